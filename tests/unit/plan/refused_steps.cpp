// Steps that a backend refuses while it makes a plan ready (libonnxkit/plan/planned.h).
#include <doctest/doctest.h>

#include <cmath>

#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::tests::refused_steps {
namespace {

using Make = std::function<Result<std::unique_ptr<plan::Executable>>(plan::Plan, plan::HostNodes&,
                                                                     const plan::PlannedRun&, cpu::Shared&)>;

/// A session of 2 * tanh(x) + x whose plans a test makes ready.
std::unique_ptr<plan::PlannedSession> session_of(Make make, std::stop_token stop = {}) {
  auto parsed = wire::parse_text(R"(<ir_version: 10, opset_import: ["" : 24]>
    main (float[2] x) => (float[2] y) <float two = {2}> {
      [turn] t = Tanh (x)
      [grow] g = Mul (t, two)
      [join] y = Add (g, x)
    })",
                                 "test");
  REQUIRE(parsed.ok());
  const auto model = std::make_shared<const ir::Model>(*std::move(parsed));
  plan::PlannedOptions options;
  options.load.context = std::make_shared<exec::SessionContext>();
  options.load.table = std::make_shared<spec::OpTable>();
  options.load.stop = std::move(stop);
  exec::BackendRegistry backends;
  reference::register_reference_backend(backends);
  options.host = backends.find("reference", {})->make({});
  const auto shared =
      std::make_shared<cpu::Shared>(cpu::Shared{.load = options.load, .host = options.host, .packed = {}});
  options.make = [shared, make = std::move(make)](plan::Plan plan, plan::HostNodes& refused,
                                                  const plan::PlannedRun& run) {
    return make(std::move(plan), refused, run, *shared);
  };
  return std::make_unique<plan::PlannedSession>(model, std::move(options));
}

exec::RunRequest request() {
  const std::vector<float> x = {0, 1};
  const auto bytes = std::as_bytes(std::span(x));
  exec::RunRequest request;
  request.inputs = {{"x", *Tensor::from_bytes(ElementType::float32, {2}, {bytes.begin(), bytes.end()})}};
  return request;
}

TEST_CASE("a node whose step a backend refuses at the end runs on the host") {
  int plans = 0;
  const auto session =
      session_of([&](plan::Plan plan, plan::HostNodes& refused, const plan::PlannedRun& run, cpu::Shared& shared) {
        ++plans;
        for (const plan::Step& step : plan.steps) {
          if (step.kind != plan::map_step) continue;
          for (const std::string& node : step.nodes)
            if (node == "turn") refused.emplace(node, "no tanh here");
        }
        if (plans == 1) return Result<std::unique_ptr<plan::Executable>>(make_error("not-supported", "a step"));
        return cpu::ReadyPlan::make(std::move(plan), shared, run);
      });
  REQUIRE(session->prepare("float32"));
  CHECK(plans == 2);
  const std::vector<std::string> notes = session->plan_report()->notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == R"(node "turn" (Tanh) runs on the reference: no tanh here)");
  const auto answer = session->run(request());
  REQUIRE(answer);
  const auto y = to_reals(answer->outputs[0].value.tensor);
  CHECK(y[0] == doctest::Approx(0));
  CHECK(y[1] == doctest::Approx(2 * std::tanh(1.0) + 1));
}

TEST_CASE("a backend that refuses the same nodes again ends with its error") {
  int plans = 0;
  const auto session = session_of([&](plan::Plan, plan::HostNodes& refused, const plan::PlannedRun&, cpu::Shared&) {
    ++plans;
    refused.emplace("turn", "never");
    return Result<std::unique_ptr<plan::Executable>>(make_error("not-supported", "it refuses everything"));
  });
  const auto prepared = session->prepare("float32");
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().diagnostic.message == "it refuses everything");
  CHECK(plans == 2);
}

TEST_CASE("other errors of a backend are final") {
  int plans = 0;
  const auto session = session_of([&](plan::Plan, plan::HostNodes&, const plan::PlannedRun&, cpu::Shared&) {
    ++plans;
    return Result<std::unique_ptr<plan::Executable>>(make_error("out-of-memory", "the device is full"));
  });
  CHECK_FALSE(session->prepare("float32"));
  CHECK(plans == 1);
}

TEST_CASE("a plan is not made ready any more when its run was stopped") {
  std::stop_source stop;
  const auto session = session_of(
      [&](plan::Plan plan, plan::HostNodes&, const plan::PlannedRun& run, cpu::Shared& shared) {
        stop.request_stop();
        return cpu::ReadyPlan::make(std::move(plan), shared, run);
      },
      stop.get_token());
  const auto prepared = session->prepare("float32");
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().diagnostic.code == "cancelled");
}

}  // namespace
}  // namespace onnxkit::tests::refused_steps
