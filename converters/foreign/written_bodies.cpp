#include "converters/foreign/written_bodies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::foreign {
namespace {

void compute_in(Graph& graph, ValueId result, std::string_view op, const std::vector<Given>& given) {
  Node& node = graph.nodes.emplace_back();
  node.op = op;
  for (const Given& one : given) node.arguments.push_back(argument_of(one));
  node.outputs = {result};
}

}  // namespace

TensorType scalar_type(ElementType elem) { return {.elem = elem, .shape = std::vector<Size>(), .strides = {}}; }
TensorType of_unknown_shape(ElementType elem) { return {.elem = elem, .shape = {}, .strides = {}}; }

ValueId add_node(Graph& graph, std::string_view op, const std::vector<Given>& given, std::string_view name,
                 const std::optional<TensorType>& type) {
  const ValueId made = graph.add_value(name, type);
  compute_in(graph, made, op, given);
  return made;
}

void add_graph(Node& node, std::string_view name, std::unique_ptr<Graph> graph) {
  Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = std::move(graph);
}

void add_operands(Node& node, const std::vector<ValueId>& values) {
  for (const ValueId value : values) node.arguments.emplace_back().content = value;
}

std::vector<ValueId> captures_of(const WriteCall::Body& a, const WriteCall::Body& b) {
  std::vector<ValueId> all = a.captures;
  for (const ValueId value : b.captures)
    if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  return all;
}

bool has_values_of_tensors(WriteCall& call, const WriteCall::Body& body) {
  for (const Output& output : body.graph->outputs)
    if (output.value == ValueId::none) call.refuse("its body does not compute an output");
  for (const ValueId value : body.captures)
    if (!call.type_of(value).is_tensor()) call.refuse("its body reads what is not a tensor");
  return !call.refused();
}

void write_branches(WriteCall& call, const BranchOperator& target, ValueId condition, WriteCall::Body then_body,
                    WriteCall::Body else_body) {
  const std::vector<ValueId> captures = captures_of(then_body, else_body);
  call.align_captures(then_body, captures);
  call.align_captures(else_body, captures);
  Node node;
  node.op = target.op;
  add_operands(node, {condition});
  add_operands(node, captures);
  add_graph(node, target.then_name, std::move(then_body.graph));
  add_graph(node, target.else_name, std::move(else_body.graph));
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) {
    if (!call.output_type(o).is_tensor()) return call.refuse("it gives what is not a tensor");
    types.push_back(call.output_type(o));
  }
  call.results(call.emit_node(std::move(node), std::move(types)));
}

bool has_open_rounds(const WriteCall& call) {
  if (!call.has(0)) return true;
  constexpr std::int64_t most_rounds = std::int64_t{1} << 20;
  const auto limit = constant_integers(call, 0);
  return limit && limit->size() == 1 && limit->front() > most_rounds;
}

Ints item_list(const WriteCall& call, std::string_view name, std::size_t count) {
  Ints list = call.integers(name, Ints(count, 0));
  list.resize(count, 0);
  return list;
}

ValueId Subgraph::node(std::string_view op, const std::vector<Given>& given, const TensorType& type) {
  return add_node(graph_, op, given, call_.keep(op), type);
}

void Subgraph::compute(ValueId result, std::string_view op, const std::vector<Given>& given) {
  compute_in(graph_, result, op, given);
}

ValueId Subgraph::constant(ElementType elem, const Ints& values, Ints dims) {
  std::string bytes(packed_size(elem, static_cast<std::int64_t>(values.size())).value_or(0), '\0');
  encode(elem, std::span<const std::int64_t>(values), std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  const ValueId id = graph_.add_value(call_.keep("constant"));
  graph_.tensors.push_back(
      {id, graph_.name_of(id), elem, std::move(dims), std::as_bytes(std::span(call_.keep(bytes)))});
  return id;
}

Rounds::Rounds(WriteCall& call, WriteCall::Body body)
    : call_(call), body_(std::move(body)), inside_(call, *body_.graph) {
  inputs_ = std::exchange(body_.graph->inputs, {});
  results_ = std::exchange(body_.graph->outputs, {});
}

std::size_t Rounds::carry(ValueId outer, ValueId inner, ValueId next, Type type) {
  outer_.push_back(outer);
  body_.graph->inputs.push_back(inner);
  body_.graph->outputs.push_back({next, body_.graph->name_of(next)});
  types_.push_back(std::move(type));
  return outer_.size() - 1;
}

ValueId Rounds::keep(ValueId outer) {
  const Type& type = call_.type_of(outer);
  const bool is_scalar = type.shape && type.shape->empty();
  const ValueId inner =
      body_.graph->add_value(call_.keep("kept"), is_scalar ? scalar_type(type.elem) : of_unknown_shape(type.elem));
  carry(outer, inner, inner, Type(type));
  return inner;
}

void Rounds::carry_captures() {
  const std::size_t first = inputs_.size() - body_.captures.size();
  for (std::size_t c = 0; c < body_.captures.size(); ++c)
    carry(body_.captures[c], inputs_[first + c], inputs_[first + c], Type(call_.type_of(body_.captures[c])));
}

std::unique_ptr<Graph> Rounds::condition(const LoopOperators& target, std::size_t round, std::size_t limit,
                                         std::optional<std::size_t> goes_on) {
  auto graph = std::make_unique<Graph>();
  for (const ValueId input : body_.graph->inputs) {
    const Value& value = body_.graph->values[index_of(input)];
    graph->inputs.push_back(graph->add_value(value.name, value.type));
  }
  Subgraph inside(call_, *graph);
  const TensorType flag = scalar_type(ElementType::boolean);
  ValueId holds = goes_on ? graph->inputs[*goes_on] : ValueId::none;
  if (limit != none) {
    const ValueId below = inside.node(target.less, {{"x", graph->inputs[round]}, {"y", graph->inputs[limit]}}, flag);
    holds = goes_on ? inside.node(target.logical_and, {{"x", below}, {"y", holds}}, flag) : below;
  } else if (!target.takes_input_as_condition) {
    holds = inside.node(target.logical_and, {{"x", holds}, {"y", holds}}, flag);
  }
  graph->outputs.push_back({holds, "goes_on"});
  return graph;
}

std::vector<ValueId> Rounds::write(const LoopOperators& target, std::size_t round, std::size_t limit,
                                   std::optional<std::size_t> goes_on) {
  Node node;
  node.op = target.loop;
  add_operands(node, outer_);
  add_graph(node, "cond", condition(target, round, limit, goes_on));
  add_graph(node, "body", std::move(body_.graph));
  return call_.emit_node(std::move(node), std::move(types_));
}

}  // namespace onnxkit::foreign
