// Branches and loops. Operands are passed explicitly in PyTorch; in ONNX bodies see the values around them.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Graph;
using foreign::OnnxBuilder;
using foreign::Val;

const Graph* graph_argument(Call& call, std::size_t index) {
  if (index >= call.node.arguments.size()) return nullptr;
  const auto* graph = call.node.arguments[index].as<std::unique_ptr<Graph>>();
  return graph ? graph->get() : nullptr;
}

/// The values of a list that is the argument at this place.
std::vector<Val> list_argument(Call& call, std::size_t index) {
  if (index >= call.node.arguments.size()) return {};
  return call.values_of(call.node.arguments[index]);
}

/// A boolean without axes.
Val condition(Call& call, Val value) {
  auto& onnx = call.onnx;
  const Val flag = onnx.cast(value, ElementType::boolean);
  return onnx.rank(flag) == 0 ? flag : onnx.reshape(flag, {});
}

void map_cond(Call& call) {
  auto& onnx = call.onnx;
  const Graph* then_graph = graph_argument(call, 1);
  const Graph* else_graph = graph_argument(call, 2);
  if (!then_graph || !else_graph) return call.refuse("a branch is missing");
  const std::vector<Val> operands = list_argument(call, 3);
  const Val chosen = condition(call, call.value_of(call.node.arguments[0]));
  std::vector<OnnxBuilder::Body> bodies;
  for (const auto& [name, graph] : {std::pair{"then_branch", then_graph}, std::pair{"else_branch", else_graph}}) {
    onnx.open_body(name, {});
    bodies.emplace_back(name, onnx.close_body(call.inlined(*graph, operands)));
  }
  call.restore_origin();
  call.results(onnx.emit_with_bodies(call.node.outputs.size(), "If", {chosen}, std::move(bodies)));
}

/// Types that hold in every pass: sizes may change from pass to pass, so that they are left open where they do.
std::vector<OnnxBuilder::BodyInput> loop_inputs(Call& call, const std::vector<Val>& carried,
                                                const std::vector<Val>& after) {
  std::vector<OnnxBuilder::BodyInput> inputs;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    checker::Type type = call.onnx.type(carried[i]);
    if (i < after.size()) {
      const checker::Type& next = call.onnx.type(after[i]);
      const bool same_rank = type.shape && next.shape && type.shape->size() == next.shape->size();
      if (!same_rank) type.shape.reset();
      for (std::size_t axis = 0; same_rank && axis < type.shape->size(); ++axis)
        if (!((*type.shape)[axis] == (*next.shape)[axis])) (*type.shape)[axis] = {};
    }
    inputs.push_back({"carried", std::move(type)});
  }
  return inputs;
}

/// Runs the body while the condition holds; what it reads besides comes from around it.
void map_while(Call& call) {
  auto& onnx = call.onnx;
  const Graph* condition_graph = graph_argument(call, 0);
  const Graph* body_graph = graph_argument(call, 1);
  if (!condition_graph || !body_graph) return call.refuse("the condition or the body is missing");
  const std::vector<Val> carried = list_argument(call, 2), constants = list_argument(call, 3);
  const auto with_constants = [&](std::vector<Val> values) {
    values.insert(values.end(), constants.begin(), constants.end());
    return values;
  };
  const std::vector<Val> first = call.inlined(*condition_graph, with_constants(carried));
  if (first.size() != 1) return call.refuse("the condition must have one result");
  std::vector<OnnxBuilder::BodyInput> inputs = loop_inputs(call, carried, {});
  inputs.insert(inputs.begin(), {{"iteration", checker::Type::tensor(ElementType::int64, foreign::Shape{})},
                                 {"condition", checker::Type::tensor(ElementType::boolean, foreign::Shape{})}});
  const std::vector<Val> own = onnx.open_body("body", inputs);
  const std::vector<Val> next = call.inlined(*body_graph, with_constants({own.begin() + 2, own.end()}));
  std::vector<Val> outputs = call.inlined(*condition_graph, with_constants(next));
  for (Val& output : outputs) output = condition(call, output);
  outputs.insert(outputs.end(), next.begin(), next.end());
  std::vector<OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(outputs));
  call.restore_origin();
  std::vector<Val> operands = {{}, condition(call, first.front())};
  operands.insert(operands.end(), carried.begin(), carried.end());
  call.results(onnx.emit_with_bodies(carried.size(), "Loop", operands, std::move(bodies)));
}

/// The body for each slice along axis 0; the results are stacked.
void map_map(Call& call) {
  auto& onnx = call.onnx;
  const Graph* body_graph = graph_argument(call, 0);
  const std::vector<Val> sliced = list_argument(call, 1), constants = list_argument(call, 2);
  if (!body_graph || sliced.empty()) return call.refuse("the body or what it runs over is missing");
  std::vector<OnnxBuilder::BodyInput> inputs;
  for (const Val whole : sliced) {
    checker::Type type = onnx.type(whole);
    if (!type.shape || type.shape->empty()) return call.refuse("what the body runs over has no axes");
    type.shape->erase(type.shape->begin());
    inputs.push_back({"slice", std::move(type)});
  }
  std::vector<Val> values = onnx.open_body("body", inputs);
  values.insert(values.end(), constants.begin(), constants.end());
  std::vector<OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(call.inlined(*body_graph, values)));
  call.restore_origin();
  const auto count = static_cast<std::int64_t>(sliced.size());
  call.results(
      onnx.emit_with_bodies(call.node.outputs.size(), "Scan", sliced, std::move(bodies), {{"num_scan_inputs", count}}));
}

/// Carried values first, then slices along axis 0; the results likewise.
void map_scan(Call& call) {
  auto& onnx = call.onnx;
  const Graph* body_graph = graph_argument(call, 0);
  const std::vector<Val> carried = list_argument(call, 1), sliced = list_argument(call, 2),
                         constants = list_argument(call, 3);
  if (!body_graph || sliced.empty()) return call.refuse("the body or what it runs over is missing");
  std::vector<OnnxBuilder::BodyInput> inputs = loop_inputs(call, carried, {});
  for (const Val whole : sliced) {
    checker::Type type = onnx.type(whole);
    if (!type.shape || type.shape->empty()) return call.refuse("what the body runs over has no axes");
    type.shape->erase(type.shape->begin());
    inputs.push_back({"slice", std::move(type)});
  }
  std::vector<Val> values = onnx.open_body("body", inputs);
  values.insert(values.end(), constants.begin(), constants.end());
  std::vector<OnnxBuilder::Body> bodies;
  bodies.emplace_back("body", onnx.close_body(call.inlined(*body_graph, values)));
  call.restore_origin();
  std::vector<Val> operands = carried;
  operands.insert(operands.end(), sliced.begin(), sliced.end());
  const auto count = static_cast<std::int64_t>(sliced.size());
  call.results(onnx.emit_with_bodies(call.node.outputs.size(), "Scan", operands, std::move(bodies),
                                     {{"num_scan_inputs", count}}));
}

}  // namespace

void register_control_flow(Mappings& mappings);
void register_control_flow(Mappings& mappings) {
  mappings.add("higher_order.cond", map_cond);
  mappings.add("higher_order.while_loop", map_while);
  mappings.add("higher_order.map_impl", map_map);
  mappings.add("higher_order.scan", map_scan);
}

}  // namespace onnxkit::pt2
