// What a plan costs to make is bounded (libonnxkit/plan/build.h).
#include <doctest/doctest.h>

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/plan/build.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/steps.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::tests::plan_bounds {
namespace {

using namespace plan;

ir::Model parsed(const std::string& text) {
  auto model = wire::parse_text(text, "test");
  REQUIRE(model.ok());
  return *std::move(model);
}

BuildOptions options() {
  BuildOptions options;
  options.table = std::make_shared<spec::OpTable>();
  options.evaluate = [](const ir::Model&) -> Result<std::vector<NamedValue>> { return make_error("kernel", "no"); };
  return options;
}

/// A chain of so many nodes, each `operator (v)`.
ir::Model chain(std::string_view op, std::string_view sizes, std::size_t count) {
  std::string nodes;
  for (std::size_t i = 0; i < count; ++i) nodes += fmt::format("v{} = {} (v{})\n", i + 1, op, i);
  return parsed(
      fmt::format("<ir_version: 10, opset_import: [\"\" : 23]>\nmain (float[{0}] v0) => (float[{0}] v{1}) {{\n{2}}}",
                  sizes, count, nodes));
}

Value zeros(const Dims& dims) {
  const auto bytes = static_cast<std::size_t>(element_count(dims)) * sizeof(float);
  return *Tensor::from_bytes(ElementType::float32, dims, std::vector<std::byte>(bytes));
}

std::uint64_t constant_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const Tensor& constant : plan.constants) bytes += constant.bytes().size();
  return bytes;
}

std::size_t host_steps(const Plan& plan) {
  return static_cast<std::size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.kind == host_step; }));
}

TEST_CASE("equal transforms share one matrix") {
  const NamedValue input{"v0", zeros({1, 64, 2})};
  const auto plan = build(chain("DFT", "1, 64, 2", 5), std::span(&input, 1), options());
  REQUIRE(plan.ok());
  CHECK(host_steps(*plan) == 0);
  CHECK(constant_bytes(*plan) == 128 * 128 * sizeof(float));
}

TEST_CASE("the tables of a plan fit into the memory of its run") {
  const NamedValue input{"v0", zeros({1, 64, 2})};
  BuildOptions bounded = options();
  bounded.memory_limit = 1 << 10;
  const auto plan = build(chain("DFT", "1, 64, 2", 2), std::span(&input, 1), bounded);
  REQUIRE(plan.ok());
  CHECK(host_steps(*plan) == 2);
  CHECK(constant_bytes(*plan) == 0);
}

TEST_CASE("a plan is given up between nodes") {
  const NamedValue input{"v0", zeros({4})};
  const ir::Model model = chain("Sin", "4", 200);
  std::size_t calls = 0;
  BuildOptions watched = options();
  watched.may_go_on = [&]() -> Result<void> {
    ++calls;
    return {};
  };
  REQUIRE(build(model, std::span(&input, 1), watched).ok());
  CHECK(calls > 200);
  const std::size_t all = calls;
  for (const std::size_t most : {std::size_t{0}, all / 2, all - 1}) {
    calls = 0;
    watched.may_go_on = [&]() -> Result<void> {
      if (calls++ == most) return make_error("time-limit", "late");
      return {};
    };
    const auto plan = build(model, std::span(&input, 1), watched);
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().diagnostic.code == "time-limit");
    CHECK(calls == most + 1);
  }
}

TEST_CASE("constants that are too large to fold keep no others from being folded") {
  std::string nodes;
  constexpr int large = 20'000;  // of 2^43 bytes each: more than int64 counts
  for (int i = 0; i < large; ++i) nodes += fmt::format("c{} = ConstantOfShape (wide)\n", i);
  nodes += "small = Add (one, one)\ny = Add (x, small)\n";
  Subject::Evaluate evaluate = [](const ir::Model& model) -> Result<std::vector<NamedValue>> {
    std::vector<NamedValue> values;
    for (const ir::ValueInfo& output : model.graph->outputs)
      values.push_back({std::string(model.graph->name_of(output.value)), zeros({1})});
    CHECK(model.graph->nodes.size() == 1);
    return values;
  };
  Subject subject(
      parsed(fmt::format("<ir_version: 10, opset_import: [\"\" : 23]>\n"
                         "main (float[1] x) => (float[1] y) <int64[1] wide = {{{}}}, float[1] one = {{1}}> {{\n{}}}",
                         std::int64_t{1} << 40, nodes)),
      std::make_shared<spec::OpTable>(), evaluate, {});
  const auto passes = pass_registry().ordered();
  const auto fold =
      std::find_if(passes.begin(), passes.end(), [](const Pass& pass) { return pass.name == "fold_constants"; });
  REQUIRE(fold != passes.end());
  const auto changed = fold->run(subject);
  REQUIRE(changed.ok());
  CHECK(*changed);
}

}  // namespace
}  // namespace onnxkit::tests::plan_bounds
