#include "converters/foreign/import.h"

#include <doctest/doctest.h>

#include <set>

#include "libonnxkit/wire/text.h"

namespace onnxkit::tests::foreign_import {
namespace {

using foreign::Call;
using foreign::Val;

void map_twice(Call& call) {
  const Val x = call.tensor("x");
  call.result(call.onnx.emit("Add", {call.onnx.emit("Neg", {x}), call.onnx.emit("Neg", {x})}));
}

void map_never(Call& call) { call.refuse("this is never possible", "another operator"); }

foreign::TensorType vector_of(std::int64_t size) {
  foreign::TensorType type;
  type.elem = ElementType::float32;
  type.shape.emplace().emplace_back().constant = size;
  return type;
}

/// y = op(x), z = op(y) ...: a chain of these operators over a vector of three.
foreign::Model chain(const std::vector<std::string_view>& ops) {
  foreign::Model model;
  model.framework = "Test";
  foreign::ValueId last = model.graph.add_value("x", vector_of(3));
  model.graph.inputs.push_back(last);
  for (const std::string_view op : ops) {
    foreign::Node& node = model.graph.nodes.emplace_back();
    node.op = op;
    node.name = "same";
    node.arguments.emplace_back();
    node.arguments.back().name = "x";
    node.arguments.back().content = last;
    last = model.graph.add_value("same", vector_of(3));
    node.outputs.push_back(last);
  }
  model.graph.outputs.push_back({last, "y"});
  return model;
}

foreign::Mappings mappings() {
  foreign::Mappings all;
  all.add("twice", map_twice);
  all.add("never", map_never);
  return all;
}

}  // namespace

TEST_CASE("nodes and values get names of their own, and outputs those of the file") {
  std::vector<Diagnostic> findings;
  const auto model = foreign::import_model(chain({"twice", "twice"}), mappings(), findings);
  REQUIRE(model);
  std::set<std::string_view> nodes, values;
  for (const ir::Node& node : model->graph->nodes) {
    CHECK(nodes.insert(node.name).second);
    for (const ir::ValueId id : node.outputs) CHECK(values.insert(model->graph->name_of(id)).second);
  }
  CHECK(nodes.size() == 6);
  CHECK(values.contains("y"));
}

TEST_CASE("all refusals are told, each operator and reason once") {
  std::vector<Diagnostic> findings;
  const auto model = foreign::import_model(chain({"never", "twice", "unheard", "never"}), mappings(), findings);
  REQUIRE_FALSE(model);
  CHECK(model.error().diagnostic.code == "unsupported-operator");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].location.op == "never");
  CHECK(findings[0].message == "this is never possible");
  CHECK(findings[0].help == "another operator");
  CHECK(findings[0].notes == std::vector<std::string>{"2 nodes; this is the first"});
  CHECK(findings[1].location.op == "unheard");
}

}  // namespace onnxkit::tests::foreign_import
