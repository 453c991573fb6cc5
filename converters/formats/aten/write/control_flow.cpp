// Branches and loops: higher-order operators with bodies as graphs.
#include <algorithm>
#include <memory>
#include <utility>

#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

using Body = WriteCall::Body;

void add_body(foreign::Node& node, std::string_view name, std::unique_ptr<foreign::Graph> graph) {
  foreign::Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = std::move(graph);
}

void add_list(foreign::Node& node, std::string_view name, const std::vector<ValueId>& values) {
  foreign::Argument::List list;
  for (const ValueId value : values) list.emplace_back().content = value;
  foreign::Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = std::move(list);
}

void add_value(foreign::Node& node, std::string_view name, ValueId value) {
  foreign::Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = value;
}

/// A node in a body that is put together here.
ValueId add_node(foreign::Graph& graph, std::string_view op,
                 const std::vector<std::pair<std::string_view, ValueId>>& given, std::string_view name,
                 const std::optional<foreign::TensorType>& type) {
  const ValueId made = graph.add_value(name, type);
  foreign::Node& node = graph.nodes.emplace_back();
  node.op = op;
  for (const auto& [argument, value] : given) add_value(node, argument, value);
  node.outputs = {made};
  return made;
}

/// The values of graphs around that either body reads.
std::vector<ValueId> captures_of(const Body& a, const Body& b) {
  std::vector<ValueId> all = a.captures;
  for (const ValueId value : b.captures)
    if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  return all;
}

std::vector<Type> output_types(WriteCall& call) {
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) types.push_back(call.output_type(o));
  return types;
}

/// Sizes are integers of one graph, which a body cannot take as operands.
bool captures_tensors(WriteCall& call, const std::vector<ValueId>& captures) {
  for (const ValueId value : captures)
    if (!call.type_of(value).is_tensor()) call.refuse("its body reads what is not a tensor");
  return !call.refused();
}

ValueId as_condition(WriteCall& call, ValueId condition) {
  const Type& type = call.type_of(condition);
  if (type.shape && type.shape->empty()) return condition;
  return reshape(call, condition, {});
}

void map_if(WriteCall& call) {
  Body then_body = call.closed_body("then_branch"), else_body = call.closed_body("else_branch");
  if (call.refused()) return;
  const std::vector<ValueId> captures = captures_of(then_body, else_body);
  if (!captures_tensors(call, captures)) return;
  call.align_captures(then_body, captures);
  call.align_captures(else_body, captures);
  foreign::Node node;
  node.op = "higher_order.cond";
  add_value(node, "pred", as_condition(call, call.input(0)));
  add_body(node, "true_graph", std::move(then_body.graph));
  add_body(node, "false_graph", std::move(else_body.graph));
  add_list(node, "operands", captures);
  call.results(call.emit_node(std::move(node), output_types(call)));
}

/// The condition of a loop: whether to go on, and whether the number of rounds is reached.
std::unique_ptr<foreign::Graph> condition_of(WriteCall& call, const foreign::Graph& body, std::size_t carried,
                                             bool has_limit) {
  auto graph = std::make_unique<foreign::Graph>();
  for (const ValueId input : body.inputs) {
    const foreign::Value& value = body.values[index_of(input)];
    graph->inputs.push_back(graph->add_value(value.name, value.type));
  }
  const foreign::TensorType boolean{.elem = ElementType::boolean, .shape = std::vector<foreign::Size>(), .strides = {}};
  ValueId goes_on = graph->inputs[1];
  if (has_limit) {
    const ValueId limit = graph->inputs[carried];
    const ValueId below = add_node(*graph, "aten.lt.Tensor", {{"self", graph->inputs[0]}, {"other", limit}},
                                   call.keep("is_below"), boolean);
    goes_on = add_node(*graph, "aten.logical_and.default", {{"self", below}, {"other", goes_on}}, call.keep("goes_on"),
                       boolean);
  } else {
    goes_on = add_node(*graph, "aten.clone.default", {{"self", goes_on}}, call.keep("goes_on"), boolean);
  }
  graph->outputs.push_back({goes_on, "goes_on"});
  return graph;
}

/// The body counts rounds itself: its outputs are the next round, the condition and the carried values.
void count_rounds(WriteCall& call, foreign::Graph& body, ValueId one) {
  const foreign::TensorType whole{.elem = ElementType::int64, .shape = std::vector<foreign::Size>(), .strides = {}};
  const ValueId next =
      add_node(body, "aten.add.Tensor", {{"self", body.inputs[0]}, {"other", one}}, call.keep("next_round"), whole);
  body.outputs.insert(body.outputs.begin(), {next, "next_round"});
}

void map_loop(WriteCall& call) {
  const std::size_t count = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  if (call.outputs() > count)
    return call.refuse("it collects a result of each round, which PyTorch's while_loop does not do",
                       "write it as Scan where the number of rounds is known");
  Body body = call.closed_body("body");
  if (call.refused()) return;
  const std::size_t own = body.graph->inputs.size() - body.captures.size();
  if (own != count + 2 || body.graph->outputs.size() != count + 1)
    return call.refuse("its body does not fit its inputs");
  std::vector<ValueId> captures = body.captures;
  const ValueId one = call.integer_scalar(1);
  std::vector<ValueId> extra;
  if (call.has(0)) extra.push_back(as_condition(call, call.input(0)));
  extra.push_back(one);
  extra.insert(extra.end(), captures.begin(), captures.end());
  if (!captures_tensors(call, extra)) return;
  call.align_captures(body, extra);
  count_rounds(call, *body.graph, body.graph->inputs[own + (call.has(0) ? 1 : 0)]);
  foreign::Node node;
  node.op = "higher_order.while_loop";
  auto condition = condition_of(call, *body.graph, own, call.has(0));
  std::vector<ValueId> carried = {
      call.emit("aten.full.default", {{"size", Ints()}, {"fill_value", Int{0}}, {"dtype", ElementType::int64}},
                Type::tensor(ElementType::int64, {})),
      call.has(1)
          ? as_condition(call, call.input(1))
          : call.emit("aten.full.default", {{"size", Ints()}, {"fill_value", Int{1}}, {"dtype", ElementType::boolean}},
                      Type::tensor(ElementType::boolean, {}))};
  std::vector<Type> types = {Type::tensor(ElementType::int64, {}), Type::tensor(ElementType::boolean, {})};
  for (std::size_t i = 0; i < count; ++i) {
    carried.push_back(call.input(i + 2));
    types.push_back(call.output_type(i));
  }
  add_body(node, "cond_fn", std::move(condition));
  add_body(node, "body_fn", std::move(body.graph));
  add_list(node, "carried_inputs", carried);
  add_list(node, "additional_inputs", extra);
  std::vector<ValueId> found = call.emit_node(std::move(node), types);
  found.erase(found.begin(), found.begin() + 2);
  call.results(found);
}

}  // namespace

void register_control_flow(Writers& writers);
void register_control_flow(Writers& writers) {
  writers.add("If", map_if);
  writers.add("Loop", map_loop);
}

}  // namespace onnxkit::aten
