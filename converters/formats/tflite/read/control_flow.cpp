// Branches and loops, whose bodies are graphs of the file.
#include "converters/foreign/control_flow.h"

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

void map_if(Call& call) {
  const Graph *then_graph = graph_of(call, "then"), *else_graph = graph_of(call, "else");
  if (!then_graph || !else_graph) return;
  foreign::branch(call, call.tensor("condition"), *then_graph, *else_graph, call.tensors("xs"));
}

/// What is carried keeps type and rank; sizes may change from pass to pass.
void map_while(Call& call) {
  const Graph *condition = graph_of(call, "cond"), *body = graph_of(call, "body");
  if (!condition || !body) return;
  foreign::WhileLoop loop{call.tensors("xs"), {}};
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    checker::Type& type = loop.types.emplace_back(call.onnx.type(loop.carried[i]));
    const foreign::TensorType* after = call.declared_type(i);
    for (std::size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
      const bool stays = after && after->shape && axis < after->shape->size() &&
                         (*type.shape)[axis].is((*after->shape)[axis].constant);
      if (!stays) (*type.shape)[axis] = {};
    }
  }
  foreign::repeat_while(call, *condition, *body, loop);
}

}  // namespace

void register_control_flow(Mappings& mappings);
void register_control_flow(Mappings& mappings) {
  mappings.add("IF", {"condition", "xs..."}, map_if);
  mappings.add("WHILE", {"xs..."}, map_while);
}

}  // namespace onnxkit::tflite
