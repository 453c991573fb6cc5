// Branches and loops, whose bodies are functions of the library. Results of rounds are collected in lists of tensors.
#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "converters/formats/saved_model/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tensorflow {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::TensorType;
using Body = WriteCall::Body;

TensorType scalar_type(ElementType elem) {
  return {.elem = elem, .shape = std::vector<foreign::Size>(), .strides = {}};
}
TensorType of_unknown_shape(ElementType elem) { return {.elem = elem, .shape = {}, .strides = {}}; }

void add_operands(Node& node, const std::vector<ValueId>& values) {
  for (const ValueId value : values) node.arguments.emplace_back().content = value;
}

void add_graph(Node& node, std::string_view name, std::unique_ptr<Graph> graph) {
  Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = std::move(graph);
}

/// A graph that is put together here.
class Subgraph {
 public:
  Subgraph(WriteCall& call, Graph& graph) : call_(call), graph_(graph) {}

  ValueId node(std::string_view op, const std::vector<ValueId>& given, const TensorType& type,
               ValueId result = ValueId::none) {
    if (result == ValueId::none) result = graph_.add_value(call_.keep(op), type);
    Node& made = graph_.nodes.emplace_back();
    made.op = op;
    add_operands(made, given);
    made.outputs = {result};
    return result;
  }
  void option(std::string_view name, ElementType value) {
    Argument& argument = graph_.nodes.back().arguments.emplace_back();
    argument.name = name;
    argument.content = value;
  }
  ValueId constant(ElementType elem, std::int64_t value) {
    std::string bytes(packed_size(elem, 1).value_or(0), '\0');
    encode(elem, std::span<const std::int64_t>(&value, 1),
           std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    const ValueId id = graph_.add_value(call_.keep("constant"));
    graph_.tensors.push_back({id, graph_.name_of(id), elem, {}, std::as_bytes(std::span(call_.keep(bytes)))});
    return id;
  }

 private:
  WriteCall& call_;
  Graph& graph_;
};

ValueId as_scalar(WriteCall& call, ValueId value) {
  const Type& type = call.type_of(value);
  return type.shape && type.shape->empty() ? value : reshape(call, value, Shape());
}

/// Small constants are in the function, weights are given to it.
Body body_of(WriteCall& call, std::string_view attribute) {
  constexpr std::size_t least_weight = 1024;
  Body body = call.closed_body(attribute, least_weight);
  for (const foreign::Output& output : body.graph->outputs)
    if (output.value == ValueId::none) call.refuse("its body does not compute an output");
  for (const ValueId value : body.captures)
    if (!call.type_of(value).is_tensor()) call.refuse("its body reads what is not a tensor");
  return body;
}

void map_if(WriteCall& call) {
  Body then_body = body_of(call, "then_branch"), else_body = body_of(call, "else_branch");
  if (call.refused()) return;
  std::vector<ValueId> captures = then_body.captures;
  for (const ValueId value : else_body.captures)
    if (std::find(captures.begin(), captures.end(), value) == captures.end()) captures.push_back(value);
  call.align_captures(then_body, captures);
  call.align_captures(else_body, captures);
  Node node;
  node.op = "StatelessIf";
  add_operands(node, {as_scalar(call, call.input(0))});
  add_operands(node, captures);
  add_graph(node, "then_branch", std::move(then_body.graph));
  add_graph(node, "else_branch", std::move(else_body.graph));
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) {
    if (!call.output_type(o).is_tensor()) return call.refuse("it gives what is not a tensor");
    types.push_back(call.output_type(o));
  }
  call.results(call.emit_node(std::move(node), std::move(types)));
}

/// A loop on its way: what it carries from round to round, in the loop's graph, its body and its condition.
class Rounds {
 public:
  Rounds(WriteCall& call, Body body) : call_(call), body_(std::move(body)), inside_(call, *body_.graph) {
    inputs_ = std::move(body_.graph->inputs);
    body_.graph->inputs.clear();
    results_ = std::move(body_.graph->outputs);
    body_.graph->outputs.clear();
  }

  /// The input of the body, and what it computes, as the node of ONNX has them.
  ValueId input(std::size_t i) const { return inputs_[i]; }
  ValueId computed(std::size_t o) const { return results_[o].value; }
  Subgraph& inside() { return inside_; }
  Graph& graph() { return *body_.graph; }

  /// A value that the body takes and gives anew: its place among the carried ones.
  std::size_t carry(ValueId outer, ValueId inner, ValueId next, Type type) {
    outer_.push_back(outer);
    body_.graph->inputs.push_back(inner);
    body_.graph->outputs.push_back({next, body_.graph->name_of(next)});
    types_.push_back(std::move(type));
    return outer_.size() - 1;
  }
  /// One that stays.
  ValueId keep(ValueId outer) {
    const ValueId inner = body_.graph->add_value(call_.keep("kept"), of_unknown_shape(call_.type_of(outer).elem));
    carry(outer, inner, inner, Type(call_.type_of(outer)));
    return inner;
  }
  void carry_captures() {
    const std::size_t first = inputs_.size() - body_.captures.size();
    for (std::size_t c = 0; c < body_.captures.size(); ++c)
      carry(body_.captures[c], inputs_[first + c], inputs_[first + c], Type(call_.type_of(body_.captures[c])));
  }

  /// A result of each round, behind those of rounds before: its place among the carried ones.
  std::size_t collect(ValueId result, const Type& whole) {
    const ValueId list = call_.emit("EmptyTensorList",
                                    {{"element_shape", element_shape(whole)},
                                     {"max_num_elements", call_.scalar(ElementType::int32, -1)},
                                     {"element_dtype", whole.elem}},
                                    Type::tensor(whole.elem));
    const ValueId before = body_.graph->add_value(call_.keep("collected"), of_unknown_shape(whole.elem));
    const ValueId after = inside_.node("TensorListPushBack", {before, result}, of_unknown_shape(whole.elem));
    inside_.option("element_dtype", whole.elem);
    return carry(list, before, after, Type::tensor(whole.elem));
  }
  /// What was collected there, as a tensor.
  ValueId stacked(ValueId list, const Type& whole) {
    return call_.emit("TensorListStack",
                      {{"input_handle", list}, {"element_shape", element_shape(whole)}, {"element_dtype", whole.elem}},
                      whole);
  }

  /// The loop, as long as the condition holds of the carried values there.
  std::vector<ValueId> write(std::size_t round, std::size_t limit, std::optional<std::size_t> goes_on) {
    auto condition = std::make_unique<Graph>();
    for (const ValueId input : body_.graph->inputs) {
      const foreign::Value& value = body_.graph->values[index_of(input)];
      condition->inputs.push_back(condition->add_value(value.name, value.type));
    }
    Subgraph graph(call_, *condition);
    ValueId holds = goes_on ? condition->inputs[*goes_on] : ValueId::none;
    if (limit != none) {
      const TensorType flag = scalar_type(ElementType::boolean);
      const ValueId below = graph.node("Less", {condition->inputs[round], condition->inputs[limit]}, flag);
      holds = goes_on ? graph.node("LogicalAnd", {below, holds}, flag) : below;
    }
    condition->outputs.push_back({holds, "goes_on"});
    Node node;
    node.op = "StatelessWhile";
    add_operands(node, outer_);
    add_graph(node, "cond", std::move(condition));
    add_graph(node, "body", std::move(body_.graph));
    return call_.emit_node(std::move(node), std::move(types_));
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

 private:
  /// Sizes of what one round gives, -1 for those that no value has; a lone -1 where the rank is unknown.
  ValueId element_shape(const Type& whole) {
    if (!whole.shape || whole.shape->empty()) return call_.scalar(ElementType::int32, -1);
    const Shape sizes(whole.shape->begin() + 1, whole.shape->end());
    if (sizes.empty()) return numbers(call_, {});
    if (are_computable(call_, sizes)) return sizes_vector(call_, sizes);
    Ints known;
    for (const Dim& size : sizes) known.push_back(size.is_constant() ? size.constant() : -1);
    return numbers(call_, known);
  }

  WriteCall& call_;
  Body body_;
  Subgraph inside_;
  std::vector<ValueId> inputs_;
  std::vector<foreign::Output> results_;
  std::vector<ValueId> outer_;
  std::vector<Type> types_;
};

/// The number of the round behind this one.
ValueId next_round(Rounds& rounds, ValueId round, ElementType elem) {
  return rounds.inside().node("AddV2", {round, rounds.inside().constant(elem, 1)}, scalar_type(elem));
}

void map_loop(WriteCall& call) {
  const std::size_t states = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  Body body = body_of(call, "body");
  if (call.refused()) return;
  if (body.graph->inputs.size() != states + 2 + body.captures.size() || body.graph->outputs.size() < states + 1)
    return call.refuse("its body does not fit its inputs");
  const std::size_t collected = body.graph->outputs.size() - 1 - states;
  Rounds rounds(call, std::move(body));
  const ValueId round = rounds.input(0);
  constexpr ElementType whole = ElementType::int64;
  const std::size_t counter =
      rounds.carry(call.scalar(whole, 0), round, next_round(rounds, round, whole), Type::tensor(whole, {}));
  const std::size_t goes_on =
      rounds.carry(call.has(1) ? as_scalar(call, call.input(1)) : call.scalar(ElementType::boolean, 1), rounds.input(1),
                   rounds.computed(0), Type::tensor(ElementType::boolean, {}));
  const std::size_t limit = call.has(0) ? goes_on + 1 : Rounds::none;
  if (call.has(0)) rounds.keep(as_scalar(call, call.input(0)));
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < states; ++s) {
    if (!call.type(s + 2).is_tensor()) return call.refuse("it carries what is not a tensor");
    places.push_back(rounds.carry(call.input(s + 2), rounds.input(s + 2), rounds.computed(s + 1),
                                  s < call.outputs() ? Type(call.output_type(s)) : Type(call.type(s + 2))));
  }
  for (std::size_t c = 0; c < collected; ++c) {
    const bool is_asked = call.has_output(states + c);  // nobody asks for others
    places.push_back(is_asked ? rounds.collect(rounds.computed(1 + states + c), call.output_type(states + c))
                              : counter);
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(counter, limit, goes_on);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o)
    results.push_back(o < states || !call.has_output(o) ? last[places[o]]
                                                        : rounds.stacked(last[places[o]], call.output_type(o)));
  call.results(results);
}

/// A list of the node with its default for each item.
Ints item_list(const WriteCall& call, std::string_view name, std::size_t count) {
  Ints list = call.integers(name, Ints(count, 0));
  list.resize(count, 0);
  return list;
}

ValueId reversed(WriteCall& call, ValueId value, std::int64_t axis) {
  return call.emit("ReverseV2", {{"tensor", value}, {"axis", numbers(call, {axis})}}, Type(call.type_of(value)));
}

/// The slices that a round of Scan takes, before the nodes of the body.
void take_slices(WriteCall& call, Rounds& rounds, ValueId round, std::size_t states, const Ints& axes,
                 const Ints& backwards) {
  std::vector<Node> body_nodes = std::exchange(rounds.graph().nodes, {});
  for (std::size_t s = 0; s < axes.size(); ++s) {
    const std::int64_t axis = WriteCall::from_start({axes[s]}, call.rank(states + s)).front();
    const ValueId whole = call.input(states + s);
    const ValueId inner = rounds.keep(backwards[s] != 0 ? reversed(call, whole, axis) : whole);
    rounds.inside().node("GatherV2", {inner, round, rounds.inside().constant(ElementType::int32, axis)}, {},
                         rounds.input(states + s));
  }
  std::move(body_nodes.begin(), body_nodes.end(), std::back_inserter(rounds.graph().nodes));
}

/// The type of what Scan collects, whose first axis is that of the rounds.
Type collected_type(WriteCall& call, std::size_t output, std::int64_t out_axis) {
  Type whole = call.output_type(output);
  if (!whole.shape || whole.shape->empty()) {
    call.refuse("the rank of what it collects is not known");
    return whole;
  }
  const auto axis = static_cast<std::ptrdiff_t>(WriteCall::from_start({out_axis}, whole.shape->size()).front());
  std::rotate(whole.shape->begin(), whole.shape->begin() + axis, whole.shape->begin() + axis + 1);
  return whole;
}

void map_scan(WriteCall& call) {
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("num_scan_inputs", 0), 0));
  if (sequences == 0 || sequences > call.node.inputs.size()) return call.refuse("it has no inputs to go along");
  const std::size_t states = call.node.inputs.size() - sequences;
  Body body = body_of(call, "body");
  if (call.refused()) return;
  if (body.graph->inputs.size() != states + sequences + body.captures.size() || body.graph->outputs.size() < states)
    return call.refuse("its body does not fit its inputs");
  const std::size_t collected = body.graph->outputs.size() - states;
  const Ints in_axes = item_list(call, "scan_input_axes", sequences),
             out_axes = item_list(call, "scan_output_axes", collected),
             turned = item_list(call, "scan_output_directions", collected);
  Rounds rounds(call, std::move(body));
  constexpr ElementType narrow = ElementType::int32;
  const ValueId round = rounds.graph().add_value(call.keep("round"), scalar_type(narrow));
  const std::size_t counter =
      rounds.carry(call.scalar(narrow, 0), round, next_round(rounds, round, narrow), Type::tensor(narrow, {}));
  const std::size_t rank = call.rank(states);
  const auto first_axis = static_cast<std::size_t>(WriteCall::from_start({in_axes[0]}, rank).front());
  if (call.refused() || first_axis >= rank) return call.refuse("the rank of its input is not known");
  const ValueId length = reshape(call, sizes_vector(call, {(*call.shape(states))[first_axis]}), Shape());
  if (call.refused()) return;
  rounds.keep(length);
  take_slices(call, rounds, round, states, in_axes, item_list(call, "scan_input_directions", sequences));
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < states; ++s)
    places.push_back(rounds.carry(call.input(s), rounds.input(s), rounds.computed(s),
                                  s < call.outputs() ? Type(call.output_type(s)) : Type(call.type(s))));
  for (std::size_t c = 0; c < collected; ++c) {
    const bool is_asked = call.has_output(states + c);
    places.push_back(is_asked
                         ? rounds.collect(rounds.computed(states + c), collected_type(call, states + c, out_axes[c]))
                         : counter);
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(counter, counter + 1, std::nullopt);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o) {
    ValueId result = last[places[o]];
    if (o >= states && call.has_output(o)) {
      const std::size_t c = o - states;
      result = rounds.stacked(result, collected_type(call, o, out_axes[c]));
      if (turned[c] != 0) result = reversed(call, result, 0);
      const std::size_t result_rank = call.output_type(o).shape->size();
      Ints order;
      for (std::size_t a = 1; a < result_rank; ++a) order.push_back(static_cast<std::int64_t>(a));
      order.insert(order.begin() + WriteCall::from_start({out_axes[c]}, result_rank).front(), 0);
      result = transpose(call, result, order);
    }
    results.push_back(result);
  }
  call.results(results);
}

}  // namespace

void register_control_flow(Writers& writers);
void register_control_flow(Writers& writers) {
  writers.add("If", map_if);
  writers.add("Loop", map_loop);
  writers.add("Scan", map_scan);
}

}  // namespace onnxkit::to_tensorflow
