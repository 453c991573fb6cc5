// Branches and loops, whose bodies are graphs of the file.
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

using foreign::Graph;

const Graph* graph_of(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  const auto* graph = given ? given->as<std::unique_ptr<Graph>>() : nullptr;
  if (!graph) call.refuse("a graph that it calls is missing");
  return graph ? graph->get() : nullptr;
}

/// A boolean without axes.
Val flag_of(Call& call, Val value) {
  auto& onnx = call.onnx;
  const Val flag = onnx.cast(value, ElementType::boolean);
  return onnx.rank(flag) == 0 ? flag : onnx.reshape(flag, std::vector<std::int64_t>());
}

void map_if(Call& call) {
  auto& onnx = call.onnx;
  const Graph *then_graph = graph_of(call, "then"), *else_graph = graph_of(call, "else");
  if (!then_graph || !else_graph) return;
  const std::vector<Val> operands = call.tensors("xs");
  const Val chosen = flag_of(call, call.tensor("condition"));
  std::vector<OnnxBuilder::Body> bodies;
  for (const auto& [name, graph] : {std::pair{"then_branch", then_graph}, std::pair{"else_branch", else_graph}}) {
    onnx.open_body(name, {});
    bodies.emplace_back(name, onnx.close_body(call.inlined(*graph, operands)));
  }
  call.restore_origin();
  call.results(onnx.emit_with_bodies(call.node.outputs.size(), "If", {chosen}, std::move(bodies)));
}

/// Runs the body while the condition holds. What is carried keeps type and rank; sizes may change from pass to pass.
void map_while(Call& call) {
  auto& onnx = call.onnx;
  const Graph *condition_graph = graph_of(call, "cond"), *body_graph = graph_of(call, "body");
  if (!condition_graph || !body_graph) return;
  const std::vector<Val> carried = call.tensors("xs");
  const std::vector<Val> first = call.inlined(*condition_graph, carried);
  if (first.size() != 1) return call.refuse("its condition must have one result");
  std::vector<OnnxBuilder::BodyInput> inputs = {
      {"iteration", checker::Type::tensor(ElementType::int64, foreign::Shape{})},
      {"condition", checker::Type::tensor(ElementType::boolean, foreign::Shape{})}};
  for (std::size_t i = 0; i < carried.size(); ++i) {
    checker::Type type = onnx.type(carried[i]);
    const foreign::TensorType* after = call.declared_type(i);
    for (std::size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
      const bool stays = after && after->shape && axis < after->shape->size() &&
                         (*type.shape)[axis].is((*after->shape)[axis].constant);
      if (!stays) (*type.shape)[axis] = {};
    }
    inputs.push_back({"carried", std::move(type)});
  }
  const std::vector<Val> own = onnx.open_body("body", inputs);
  const std::vector<Val> next = call.inlined(*body_graph, {own.begin() + 2, own.end()});
  std::vector<Val> outputs = call.inlined(*condition_graph, next);
  for (Val& output : outputs) output = flag_of(call, output);
  outputs.insert(outputs.end(), next.begin(), next.end());
  std::vector<OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(outputs));
  call.restore_origin();
  std::vector<Val> operands = {{}, flag_of(call, first.front())};
  operands.insert(operands.end(), carried.begin(), carried.end());
  call.results(onnx.emit_with_bodies(carried.size(), "Loop", operands, std::move(bodies)));
}

}  // namespace

void register_control_flow(Mappings& mappings);
void register_control_flow(Mappings& mappings) {
  mappings.add("IF", {"condition", "xs..."}, map_if);
  mappings.add("WHILE", {"xs..."}, map_while);
}

}  // namespace onnxkit::tflite
