// The examples of docs/adding.md, compiled as they are and run through registries of their own.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "checker/rule_registry.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/spec/resolution.h"
#include "libonnxkit/wire/text.h"
#include "reference/executor/kernel.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit {

namespace checker {
void register_double_negation(RuleRegistry& registry);
void register_torch_embedding(InferRegistry& registry);
}  // namespace checker
namespace reference {
void register_torch_embedding(KernelRegistry& registry);
}
namespace comparison {
void register_signal(TaskRegistry& registry);
}
namespace zeros {
void register_zeros_backend(exec::BackendRegistry& registry);
}
namespace formats {
void register_graphviz(Registry& registry);
}

using tests::floats;

TEST_CASE("an operator registers its inference and its kernel") {
  checker::InferRegistry inference;
  checker::register_torch_embedding(inference);
  CHECK((inference.find("com.microsoft", "TorchEmbedding", 1) != nullptr));
  reference::KernelRegistry kernels;
  reference::register_torch_embedding(kernels);
  CHECK((kernels.find("com.microsoft", "TorchEmbedding", 1) != nullptr));
}

TEST_CASE("a rule finds what its page says") {
  const auto model = wire::parse_text(
      "<ir_version: 10, opset_import: [\"\": 21]>\nmain (float[2] x) => (float[2] y) { a = Neg(x) y = Neg(a) }",
      "rule");
  REQUIRE(model);
  checker::RuleRegistry rules;
  checker::register_double_negation(rules);
  checker::Collector collector;
  const spec::OpTable table;
  const auto scopes = ir::graph_scopes(*model);
  const spec::Resolution resolution(*model, scopes, table);
  const checker::ExternalBytes no_bytes{};
  checker::RuleContext context{*model, table, resolution, scopes, nullptr, no_bytes, collector};
  rules.run(checker::Stage::operators, context);
  const auto found = collector.take();
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "double-negation");
}

TEST_CASE("a metric measures and says what it measured") {
  comparison::TaskRegistry tasks;
  comparison::register_signal(tasks);
  const comparison::Task* const signal = tasks.find("signal");
  REQUIRE(signal);
  const Tensor a = floats({3, 4}), b = floats({3, 4.5F}), none;
  const auto outcome = signal->measure({a, b, none, none, 1});
  REQUIRE(outcome);
  CHECK_FALSE(outcome->same);
  CHECK(comparison::figure(*outcome, "lowest signal to noise in dB") == doctest::Approx(20));
  CHECK(signal->sentence(*outcome) == "the noise is 20 dB below the signal");
}

TEST_CASE("a backend loads a model and runs it") {
  exec::BackendRegistry backends;
  zeros::register_zeros_backend(backends);
  const auto entry = backends.find("zeros", {});
  REQUIRE(entry);
  auto model = wire::parse_text(
      "<ir_version: 8, opset_import: [\"\": 17]>\nmain (float[2] x) => (float[2] y) { y = Exp(x) }", "zeros");
  REQUIRE(model);
  const auto backend = entry->make({});
  const auto session = backend->load({.model = std::make_shared<const ir::Model>(*std::move(model))}, {});
  REQUIRE(session);
  const auto answer = (*session)->run({});
  REQUIRE(answer);
  REQUIRE(answer->outputs.size() == 1);
  CHECK(answer->outputs[0].value.tensor.dims() == std::vector<std::int64_t>{2});
  CHECK(std::ranges::equal(answer->outputs[0].value.tensor.bytes(), floats({0, 0}).bytes()));
}

TEST_CASE("a format is found by the extension that it claims") {
  formats::Registry formats;
  formats::register_graphviz(formats);
  const formats::Format* const graphviz = formats.to_write("graph.dot");
  REQUIRE(graphviz);
  CHECK(graphviz->name == "graphviz");
  CHECK(formats.to_write("graph.onnx") == nullptr);
  CHECK(formats.writable() == "graphviz (.dot)");
}

}  // namespace onnxkit
