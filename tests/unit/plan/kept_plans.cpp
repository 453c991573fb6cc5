// Plans that a session keeps, and gives up where memory is short (libonnxkit/plan/kept_plans.h).
#include <doctest/doctest.h>

#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::tests::kept_plans {
namespace {

/// A machine with room for a few bytes, which the values of plans take as soon as these are made.
struct Machine {
  std::uint64_t room = 0, used = 0;
  int made = 0, refusals = 0;
};

class Counted : public plan::Executable {
 public:
  Counted(std::unique_ptr<plan::Executable> ready, Machine& machine) : ready_(std::move(ready)), machine_(machine) {
    machine_.used += ready_->bytes();
    ++machine_.made;
  }
  ~Counted() override { machine_.used -= ready_->bytes(); }

  const plan::Plan& plan() const override { return ready_->plan(); }
  std::uint64_t bytes() const override { return ready_->bytes(); }
  Result<std::vector<Value>> run(std::span<const Value> inputs, const plan::PlannedRun& run) override {
    return ready_->run(inputs, run);
  }

 private:
  std::unique_ptr<plan::Executable> ready_;
  Machine& machine_;
};

std::unique_ptr<plan::PlannedSession> session_of(std::string_view text, Machine& machine) {
  auto parsed = wire::parse_text(text, "test");
  REQUIRE(parsed.ok());
  plan::PlannedOptions options;
  options.load.context = std::make_shared<exec::SessionContext>();
  options.load.table = std::make_shared<spec::OpTable>();
  options.plans_bodies = true;
  exec::BackendRegistry backends;
  reference::register_reference_backend(backends);
  options.host = backends.find("reference", {})->make({});
  const auto shared =
      std::make_shared<cpu::Shared>(cpu::Shared{.load = options.load, .host = options.host, .packed = {}});
  options.make = [shared, &machine](plan::Plan plan, plan::HostNodes&,
                                    const plan::PlannedRun& run) -> Result<std::unique_ptr<plan::Executable>> {
    if (machine.room != 0 && machine.used + plan::memory_bytes(plan) > machine.room) {
      ++machine.refusals;
      return make_error("out-of-memory", "the machine is full");
    }
    auto ready = cpu::ReadyPlan::make(std::move(plan), *shared, run);
    if (!ready) return ready.error();
    return std::unique_ptr<plan::Executable>(std::make_unique<Counted>(*std::move(ready), machine));
  };
  auto session =
      std::make_unique<plan::PlannedSession>(std::make_shared<const ir::Model>(*std::move(parsed)), std::move(options));
  REQUIRE(session->prepare("float32"));
  return session;
}

/// So many ones.
bool runs(plan::PlannedSession& session, std::int64_t count, std::uint64_t limit = 0) {
  const std::vector<float> x(static_cast<std::size_t>(count), 1);
  const auto bytes = std::as_bytes(std::span(x));
  exec::RunRequest request;
  request.inputs = {{"x", *Tensor::from_bytes(ElementType::float32, {count}, {bytes.begin(), bytes.end()})}};
  request.limits.memory = limit;
  const auto answer = session.run(request);
  return answer.ok();
}

constexpr std::string_view chain_text = R"(<ir_version: 10, opset_import: ["" : 21]>
  main (float[N] x) => (float[N] y) {
    a = Softmax (x)
    y = Softmax (a)
  })";
// The sizes behind NonZero are told by the run: what stands there is a plan of its own.
constexpr std::string_view rest_text = R"(<ir_version: 10, opset_import: ["" : 21]>
  main (float[N] x) => (float[M, L] y) {
    a = Softmax (x)
    places = NonZero (a)
    b = Cast <to = 1> (places)
    y = Softmax (b)
  })";
constexpr std::string_view loop_text = R"(<ir_version: 10, opset_import: ["" : 21]>
  main (float[N] x) => (float[N] y) {
    trips = Constant <value = int64 {2}> ()
    a = Softmax (x)
    y = Loop (trips, , a) <body = body (int64 i, bool goes_on, float[N] before) => (bool still, float[N] after) {
      still = Identity (goes_on)
      b = Softmax (before)
      after = Softmax (b)
    }>
  })";

TEST_CASE("plans that were not used for longest go where a new one finds no memory") {
  for (const std::string_view text : {chain_text, rest_text, loop_text}) {
    CAPTURE(text);
    Machine machine;
    machine.room = 100'000;  // for one plan and those of its rest and bodies
    const auto session = session_of(text, machine);
    for (const std::int64_t count : {4000, 3900, 3800, 3700, 100, 3600, 4000}) CHECK(runs(*session, count));
    CHECK(machine.refusals > 0);
  }
}

TEST_CASE("a plan that alone finds no memory is an error") {
  Machine machine;
  machine.room = 1 << 12;
  const auto session = session_of(chain_text, machine);
  CHECK(runs(*session, 100));
  CHECK_FALSE(runs(*session, 4000));
  CHECK(machine.used == 0);
  CHECK(runs(*session, 100));
}

TEST_CASE("all plans of a session keep to the limit of memory of a run, the newest and the small ones stay") {
  for (const std::string_view text : {chain_text, rest_text}) {  // with a limit bodies have no plans
    CAPTURE(text);
    Machine machine;
    const auto session = session_of(text, machine);
    constexpr std::uint64_t limit = 1 << 16;
    for (const std::int64_t count : {4000, 3900, 3800, 100, 3700}) {
      CHECK(runs(*session, count, limit));
      CHECK(machine.used <= limit);
    }
    const int made = machine.made;
    CHECK(runs(*session, 100, limit));
    CHECK(runs(*session, 3700, limit));
    CHECK(machine.made == made);
    for (const std::int64_t count : {4000, 3900}) CHECK(runs(*session, count));
    CHECK(machine.used > limit);
    CHECK(runs(*session, 3700, limit));
    CHECK(machine.used <= limit);
  }
}

TEST_CASE("eight plans are kept at most") {
  Machine machine;
  const auto session = session_of(chain_text, machine);
  for (std::int64_t count = 1; count <= 9; ++count) CHECK(runs(*session, count));
  CHECK(machine.made == 9);
  for (std::int64_t count = 9; count >= 2; --count) CHECK(runs(*session, count));
  CHECK(machine.made == 9);
  CHECK(runs(*session, 1));
  CHECK(machine.made == 10);
}

}  // namespace
}  // namespace onnxkit::tests::kept_plans
