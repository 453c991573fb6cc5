// Finding the pass of a plan that makes outputs wrong (libonnxkit/diff/passes.h).
#include "libonnxkit/diff/passes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::tests::diff_passes {
namespace {

using Names = std::vector<std::string>;

/// Wrong where all of some group of passes run.
diffing::JudgePasses wrong_with(const std::vector<Names>& groups) {
  return [groups](const Names& without) -> Result<Verdict> {
    const auto runs = [&](const std::string& pass) {
      return std::find(without.begin(), without.end(), pass) == without.end();
    };
    const bool is_wrong = std::any_of(groups.begin(), groups.end(), [&](const Names& group) {
      return std::all_of(group.begin(), group.end(), runs);
    });
    return is_wrong ? Verdict::not_rounding : Verdict::rounding;
  };
}

const Names passes = {"a", "b", "c", "d"};

TEST_CASE("the pass behind which outputs are wrong is found") {
  CHECK(diffing::wrong_passes(passes, wrong_with({{"c"}})).wrong == Names{"c"});
  CHECK(diffing::wrong_passes(passes, wrong_with({{"a"}})).wrong == Names{"a"});
}

TEST_CASE("several wrong passes are all found, of two that are wrong together the later one") {
  CHECK(diffing::wrong_passes(passes, wrong_with({{"b"}, {"d"}})).wrong == Names{"b", "d"});
  CHECK(diffing::wrong_passes(passes, wrong_with({{"a", "c"}})).wrong == Names{"c"});
}

TEST_CASE("outputs that are wrong without any pass are no pass's fault") {
  const auto search = diffing::wrong_passes(passes, [](const Names&) { return Verdict::mismatch; });
  CHECK(search.wrong.empty());
  CHECK(search.trials.size() == 1);
}

TEST_CASE("a plan that cannot be run is no right answer") {
  const diffing::JudgePasses judge = [](const Names& without) -> Result<Verdict> {
    if (std::find(without.begin(), without.end(), "b") == without.end()) return make_error("kernel", "it failed");
    return Verdict::identical;
  };
  CHECK(diffing::wrong_passes(passes, judge).wrong == Names{"b"});
  const auto trials = diffing::without_each(passes, judge);
  REQUIRE(trials.size() == passes.size());
  CHECK(trials[0].failure);
  CHECK_FALSE(trials[1].failure);
}

/// Takes Tanh for Sigmoid.
Result<bool> mistake_tanh(plan::Subject& subject) {
  plan::Rewriting rewriting(subject);
  for (std::size_t at = 0; at < subject.graph().nodes.size(); ++at) {
    const ir::Node& node = subject.graph().nodes[at];
    if (!plan::Subject::is_op(node, "Tanh") || !rewriting.is_free(at, {node.inputs[0]})) continue;
    rewriting.replace(at, ir::make_node(subject.model(), "Sigmoid", {node.inputs[0]}, {node.outputs[0]}, {}));
  }
  return rewriting.finish();
}

TEST_CASE("a wrong pass among those of the library is named") {
  const auto model = wire::parse_text(R"(<ir_version: 10, opset_import: ["" : 24]>
    main (float[4] x) => (float[4] y) {
      a = Tanh (x)
      b = Sigmoid (a)
      c = Mul (a, b)
      y = Add (c, x)
    })",
                                      "test");
  REQUIRE(model.ok());
  plan::PassRegistry registry;
  for (const plan::Pass& pass : plan::pass_registry().ordered()) registry.add(pass);
  registry.add({.name = "mistake_tanh", .stage = plan::Stage::clean, .run = mistake_tanh});
  Names names;
  for (const plan::Pass& pass : registry.ordered()) names.emplace_back(pass.name);

  exec::BackendRegistry backends;
  reference::register_reference_backend(backends);
  exec::LoadOptions load;
  load.context = std::make_shared<exec::SessionContext>();
  load.table = std::make_shared<spec::OpTable>();
  const std::shared_ptr<exec::Backend> host = backends.find("reference", {})->make({});
  const auto shared_model = std::shared_ptr<const ir::Model>(std::shared_ptr<const void>(), &*model);
  exec::RunRequest request;
  const std::vector<float> x = {-1, 0.25F, 0.5F, 2};
  const auto bytes = std::as_bytes(std::span(x));
  request.inputs = {{"x", *Tensor::from_bytes(ElementType::float32, {4}, {bytes.begin(), bytes.end()})}};
  const auto want = (*host->load({.model = shared_model}, load))->run(request);
  REQUIRE(want);

  const diffing::JudgePasses judge = [&](const Names& without) -> Result<Verdict> {
    const auto shared = std::make_shared<cpu::Shared>(cpu::Shared{.load = load, .host = host, .packed = {}});
    plan::PlannedOptions options;
    options.load = load;
    options.host = host;
    options.passes = &registry;
    options.without_passes.insert(without.begin(), without.end());
    options.make = [shared](plan::Plan plan, plan::HostNodes&, const plan::PlannedRun& run) {
      return cpu::ReadyPlan::make(std::move(plan), *shared, run);
    };
    plan::PlannedSession session(shared_model, std::move(options));
    if (auto prepared = session.prepare("float32"); !prepared) return prepared.error();
    const auto got = session.run(request);
    if (!got) return got.error();
    const auto a = to_reals(want->outputs[0].value.tensor), b = to_reals(got->outputs[0].value.tensor);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 1e-5) return Verdict::not_rounding;
    }
    return Verdict::rounding;
  };
  CHECK(is_finding(*judge({})));
  CHECK(diffing::wrong_passes(names, judge).wrong == Names{"mistake_tanh"});
}

}  // namespace
}  // namespace onnxkit::tests::diff_passes
