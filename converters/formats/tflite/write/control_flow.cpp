// Branches and loops, whose bodies are subgraphs.
#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "converters/formats/tflite/emit.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
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

/// A graph that is put together here.
class Subgraph {
 public:
  Subgraph(WriteCall& call, Graph& graph) : call_(call), graph_(graph) {}

  ValueId node(std::string_view op, std::vector<std::pair<std::string_view, ValueId>> given, const TensorType& type,
               ValueId result = ValueId::none) {
    if (result == ValueId::none) result = graph_.add_value(call_.keep(op), type);
    Node& made = graph_.nodes.emplace_back();
    made.op = op;
    for (const auto& [name, value] : given) {
      Argument& argument = made.arguments.emplace_back();
      argument.name = name;
      argument.content = value;
    }
    made.outputs = {result};
    return result;
  }
  void option(std::string_view name, std::int64_t value) {
    Argument& argument = graph_.nodes.back().arguments.emplace_back();
    argument.name = name;
    argument.content = value;
  }

  ValueId constant(ElementType elem, const Ints& values, bool is_scalar) {
    std::string bytes(packed_size(elem, static_cast<std::int64_t>(values.size())).value_or(0), '\0');
    encode(elem, std::span<const std::int64_t>(values), std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    const ValueId id = graph_.add_value(call_.keep("constant"));
    Ints dims;
    if (!is_scalar) dims.push_back(static_cast<std::int64_t>(values.size()));
    graph_.tensors.push_back(
        {id, graph_.name_of(id), elem, std::move(dims), std::as_bytes(std::span(call_.keep(bytes)))});
    return id;
  }

  ValueId as_int32(ValueId value, ElementType elem) {
    if (elem == ElementType::int32) return value;
    const ValueId narrow = node("CAST", {{"x", value}}, scalar_type(ElementType::int32));
    for (const auto& [name, type] : {std::pair{"in_data_type", elem}, std::pair{"out_data_type", ElementType::int32}}) {
      Argument& argument = graph_.nodes.back().arguments.emplace_back();
      argument.name = name;
      argument.content = type;
    }
    return narrow;
  }

 private:
  WriteCall& call_;
  Graph& graph_;
};

void add_graph(Node& node, std::string_view name, std::unique_ptr<Graph> graph) {
  Argument& argument = node.arguments.emplace_back();
  argument.name = name;
  argument.content = std::move(graph);
}

void add_operands(Node& node, const std::vector<ValueId>& values) {
  for (const ValueId value : values) node.arguments.emplace_back().content = value;
}

ValueId as_scalar(WriteCall& call, ValueId value) {
  const Type& type = call.type_of(value);
  return type.shape && type.shape->empty() ? value : reshape(call, value, Shape());
}

bool has_values_of_tensors(WriteCall& call, const Body& body) {
  for (const foreign::Output& output : body.graph->outputs)
    if (output.value == ValueId::none) call.refuse("its body does not compute an output");
  for (const ValueId value : body.captures)
    if (!call.type_of(value).is_tensor()) call.refuse("its body reads what is not a tensor");
  return !call.refused();
}

void map_if(WriteCall& call) {
  Body then_body = call.body("then_branch", true), else_body = call.body("else_branch", true);
  if (call.refused() || !has_values_of_tensors(call, then_body) || !has_values_of_tensors(call, else_body)) return;
  std::vector<ValueId> captures = then_body.captures;
  for (const ValueId value : else_body.captures)
    if (std::find(captures.begin(), captures.end(), value) == captures.end()) captures.push_back(value);
  call.align_captures(then_body, captures);
  call.align_captures(else_body, captures);
  Node node;
  node.op = "IF";
  add_operands(node, {as_scalar(call, call.input(0))});
  add_operands(node, captures);
  add_graph(node, "then", std::move(then_body.graph));
  add_graph(node, "else", std::move(else_body.graph));
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
    const Type& type = call_.type_of(outer);
    TensorType declared = of_unknown_shape(type.elem);
    if (type.shape && type.shape->empty()) declared = scalar_type(type.elem);
    const ValueId inner = body_.graph->add_value(call_.keep("kept"), declared);
    carry(outer, inner, inner, Type(type));
    return inner;
  }
  void carry_captures() {
    const std::size_t first = inputs_.size() - body_.captures.size();
    for (std::size_t c = 0; c < body_.captures.size(); ++c)
      carry(body_.captures[c], inputs_[first + c], inputs_[first + c], Type(call_.type_of(body_.captures[c])));
  }

  /// A result of each round, behind those of rounds before: its place among the carried ones.
  std::size_t collect(ValueId result, ValueId round, ElementType round_elem, ValueId length, const Type& whole) {
    if (!whole.shape || whole.shape->empty()) call_.refuse("the shape of what it collects is not known");
    if (call_.refused()) return 0;
    const Shape sizes(whole.shape->begin() + 1, whole.shape->end());
    std::vector<ValueId> parts = {reshape(call_, length, {Dim(1)})};
    if (!sizes.empty()) parts.push_back(sizes_vector(call_, sizes));
    if (call_.refused()) return 0;
    const auto rank = static_cast<std::int64_t>(sizes.size() + 1);
    const ValueId dims = concat(call_, parts, 0, Type::tensor(ElementType::int32, {Dim(rank)}));
    const ValueId zeros =
        call_.emit("FILL", {{"dims", dims}, {"value", call_.scalar(whole.elem, 0)}}, Type::tensor(whole.elem));
    const ValueId before = body_.graph->add_value(call_.keep("collected"), of_unknown_shape(whole.elem));
    const ValueId row =
        inside_.node("EXPAND_DIMS", {{"x", result}, {"axis", inside_.constant(ElementType::int32, {0}, true)}},
                     of_unknown_shape(whole.elem));
    const ValueId first = inside_.node(
        "EXPAND_DIMS",
        {{"x", inside_.as_int32(round, round_elem)}, {"axis", inside_.constant(ElementType::int32, {0}, true)}},
        {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{1}}, .strides = {}});
    const ValueId place =
        inside_.node("PAD", {{"x", first}, {"paddings", pairs_behind(rank - 1)}},
                     {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{rank}}, .strides = {}});
    const ValueId after = inside_.node("DYNAMIC_UPDATE_SLICE", {{"x", before}, {"update", row}, {"start", place}},
                                       of_unknown_shape(whole.elem));
    return carry(zeros, before, after, Type(whole));
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
      const ValueId below = graph.node("LESS", {{"x", condition->inputs[round]}, {"y", condition->inputs[limit]}},
                                       scalar_type(ElementType::boolean));
      holds =
          goes_on ? graph.node("LOGICAL_AND", {{"x", below}, {"y", holds}}, scalar_type(ElementType::boolean)) : below;
    } else {
      holds = graph.node("LOGICAL_AND", {{"x", holds}, {"y", holds}}, scalar_type(ElementType::boolean));
    }
    condition->outputs.push_back({holds, "goes_on"});
    Node node;
    node.op = "WHILE";
    add_operands(node, outer_);
    add_graph(node, "cond", std::move(condition));
    add_graph(node, "body", std::move(body_.graph));
    return call_.emit_node(std::move(node), std::move(types_));
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

 private:
  /// [[0, count]]
  ValueId pairs_behind(std::int64_t count) {
    const ValueId pairs = inside_.constant(ElementType::int32, {0, count}, false);
    body_.graph->tensors.back().dims = {1, 2};
    return pairs;
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
  return rounds.inside().node("ADD", {{"x", round}, {"y", rounds.inside().constant(elem, {1}, true)}},
                              scalar_type(elem));
}

void map_loop(WriteCall& call) {
  const std::size_t states = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  Body body = call.body("body", true);
  if (call.refused() || !has_values_of_tensors(call, body)) return;
  if (body.graph->inputs.size() != states + 2 + body.captures.size() || body.graph->outputs.size() < states + 1)
    return call.refuse("its body does not fit its inputs");
  const std::size_t collected = body.graph->outputs.size() - 1 - states;
  const auto most = call.has(0) ? call.known_real(0) : std::nullopt;
  constexpr double most_rounds = std::numeric_limits<std::int32_t>::max();
  if (collected > 0 && (!call.has(0) || (most && *most > most_rounds)))
    return call.refuse("it collects results of rounds whose number it does not state");
  Rounds rounds(call, std::move(body));
  const ValueId round = rounds.input(0);
  constexpr ElementType whole = ElementType::int64;
  const std::size_t counter =
      rounds.carry(call.scalar(whole, 0), round, next_round(rounds, round, whole), Type::tensor(whole, {}));
  const std::size_t goes_on =
      rounds.carry(call.has(1) ? as_scalar(call, call.input(1)) : call.scalar(ElementType::boolean, 1), rounds.input(1),
                   rounds.computed(0), Type::tensor(ElementType::boolean, {}));
  std::size_t limit = Rounds::none;
  const ValueId count = call.has(0) ? as_scalar(call, call.input(0)) : ValueId::none;
  if (call.has(0)) {
    rounds.keep(count);
    limit = goes_on + 1;
  }
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < states; ++s) {
    if (!call.type(s + 2).is_tensor()) return call.refuse("it carries what is not a tensor");
    places.push_back(rounds.carry(call.input(s + 2), rounds.input(s + 2), rounds.computed(s + 1),
                                  s < call.outputs() ? Type(call.output_type(s)) : Type(call.type(s + 2))));
  }
  for (std::size_t c = 0; c < collected; ++c) {
    if (!call.has_output(states + c)) {
      places.push_back(counter);  // nobody asks for it
      continue;
    }
    const ValueId length = cast(call, count, ElementType::int32);
    places.push_back(
        rounds.collect(rounds.computed(1 + states + c), round, whole, length, call.output_type(states + c)));
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(counter, limit, goes_on);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o) {
    results.push_back(last[places[o]]);
    if (o < states || !call.has_output(o)) continue;  // of rounds that did not come, nothing is given
    const ValueId end = reshape(call, cast(call, last[counter], ElementType::int32), {Dim(1)});
    const std::size_t rank = call.output_type(o).shape ? call.output_type(o).shape->size() : 0;
    if (rank == 0) return call.refuse("the rank of what it collects is not known");
    Ints zeros(rank, 0), ones(rank, 1);
    std::vector<ValueId> ends = {end};
    if (rank > 1) ends.push_back(numbers(call, Ints(rank - 1, 0)));
    const ValueId until =
        concat(call, ends, 0, Type::tensor(ElementType::int32, {Dim(static_cast<std::int64_t>(rank))}));
    results.back() = call.emit("STRIDED_SLICE",
                               {{"x", results.back()},
                                {"begin", numbers(call, zeros)},
                                {"end", until},
                                {"strides", numbers(call, ones)},
                                {"end_mask", (std::int64_t{1} << rank) - 2}},
                               call.output_type(o));
  }
  call.results(results);
}

/// A list of the node with its default for each item.
Ints item_list(const WriteCall& call, std::string_view name, std::size_t count) {
  Ints list = call.integers(name, Ints(count, 0));
  list.resize(count, 0);
  return list;
}

void map_scan(WriteCall& call) {
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("num_scan_inputs", 0), 0));
  if (sequences == 0 || sequences > call.node.inputs.size()) return call.refuse("it has no inputs to go along");
  const std::size_t states = call.node.inputs.size() - sequences;
  Body body = call.body("body", true);
  if (call.refused() || !has_values_of_tensors(call, body)) return;
  if (body.graph->inputs.size() != states + sequences + body.captures.size() || body.graph->outputs.size() < states)
    return call.refuse("its body does not fit its inputs");
  const std::size_t collected = body.graph->outputs.size() - states;
  const Ints in_axes = item_list(call, "scan_input_axes", sequences),
             out_axes = item_list(call, "scan_output_axes", collected);
  const Ints backwards = item_list(call, "scan_input_directions", sequences),
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
  const std::size_t limit = counter + 1;
  std::vector<Node> body_nodes = std::move(rounds.graph().nodes);  // behind the parts that they read
  rounds.graph().nodes.clear();
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::int64_t axis = WriteCall::from_start({in_axes[s]}, call.rank(states + s)).front();
    ValueId whole = call.input(states + s);
    if (backwards[s] != 0)
      whole = call.emit("REVERSE_V2", {{"x", whole}, {"axes", numbers(call, {axis})}}, Type(call.type(states + s)));
    const ValueId inner = rounds.keep(whole);
    const ValueId part = rounds.input(states + s);
    rounds.inside().node("GATHER", {{"x", inner}, {"indices", round}}, {}, part);
    rounds.inside().option("axis", axis);
  }
  std::move(body_nodes.begin(), body_nodes.end(), std::back_inserter(rounds.graph().nodes));
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < states; ++s)
    places.push_back(rounds.carry(call.input(s), rounds.input(s), rounds.computed(s),
                                  s < call.outputs() ? Type(call.output_type(s)) : Type(call.type(s))));
  for (std::size_t c = 0; c < collected; ++c) {
    if (!call.has_output(states + c)) {
      places.push_back(counter);  // nobody asks for it
      continue;
    }
    Type whole = call.output_type(states + c);
    if (!whole.shape || whole.shape->empty()) return call.refuse("the shape of what it collects is not known");
    const auto axis = static_cast<std::size_t>(WriteCall::from_start({out_axes[c]}, whole.shape->size()).front());
    std::rotate(whole.shape->begin(), whole.shape->begin() + static_cast<std::ptrdiff_t>(axis),
                whole.shape->begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    places.push_back(rounds.collect(rounds.computed(states + c), round, narrow, length, whole));
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(counter, limit, std::nullopt);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o) {
    ValueId result = last[places[o]];
    if (o >= states && call.has_output(o)) {
      if (turned[o - states] != 0)
        result = call.emit("REVERSE_V2", {{"x", result}, {"axes", numbers(call, {0})}}, Type(call.type_of(result)));
      const std::size_t result_rank = call.output_type(o).shape->size();
      const std::int64_t axis = WriteCall::from_start({out_axes[o - states]}, result_rank).front();
      Ints order;
      for (std::size_t a = 1; a < result_rank; ++a) order.push_back(static_cast<std::int64_t>(a));
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
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

}  // namespace onnxkit::to_tflite
