// Branches and loops: higher-order operators with bodies as graphs.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "converters/foreign/written_bodies.h"
#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

using Body = WriteCall::Body;

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
  const std::vector<ValueId> captures = foreign::captures_of(then_body, else_body);
  if (!captures_tensors(call, captures)) return;
  call.align_captures(then_body, captures);
  call.align_captures(else_body, captures);
  foreign::Node node;
  node.op = "higher_order.cond";
  add_value(node, "pred", as_condition(call, call.input(0)));
  foreign::add_graph(node, "true_graph", std::move(then_body.graph));
  foreign::add_graph(node, "false_graph", std::move(else_body.graph));
  add_list(node, "operands", captures);
  call.results(call.emit_node(std::move(node), output_types(call)));
}

/// A tensor that a body makes in each round, and the axis along which they are put together.
struct Collected {
  ValueId made;  ///< of the body
  Int axis = 0;
  Type type;                                   ///< of all together
  std::variant<Int, ValueId> rounds = Int{0};  ///< how many
};

/// A loop before it is a while_loop. Values of the body come from its graph, the others from around it.
struct Rounds {
  Body body;
  ValueId round = ValueId::none, goes_on = ValueId::none;  ///< of the body; goes_on is none where only the limit counts
  std::vector<ValueId> states;                             ///< of the body
  std::vector<ValueId> operands;                           ///< of the body, beside its captures
  ValueId next_goes_on = ValueId::none;                    ///< of the body
  std::vector<ValueId> next_states;                        ///< of the body
  std::vector<Collected> collected;

  ValueId limit = ValueId::none, first_goes_on = ValueId::none;
  std::vector<ValueId> first_states, given_operands;
  std::vector<Type> state_types;
};

const Type whole_number = Type::tensor(ElementType::int64, {});

/// Whether to go on: the condition, and whether the number of rounds is reached.
std::unique_ptr<foreign::Graph> condition_of(WriteCall& call, const Rounds& rounds, std::size_t limit_place) {
  auto graph = std::make_unique<foreign::Graph>();
  const foreign::Graph& body = *rounds.body.graph;
  for (const ValueId input : body.inputs) {
    const foreign::Value& value = body.values[index_of(input)];
    graph->inputs.push_back(graph->add_value(value.name, value.type));
  }
  const foreign::TensorType boolean = call.declared(Type::tensor(ElementType::boolean, {}));
  const bool has_condition = rounds.goes_on != ValueId::none, has_limit = rounds.limit != ValueId::none;
  ValueId goes_on = has_condition ? graph->inputs[1] : ValueId::none;
  if (has_limit) {
    const ValueId below =
        foreign::add_node(*graph, "aten.lt.Tensor", {{"self", graph->inputs[0]}, {"other", graph->inputs[limit_place]}},
                          call.keep("is_below"), boolean);
    goes_on = has_condition ? foreign::add_node(*graph, "aten.logical_and.default",
                                                {{"self", below}, {"other", goes_on}}, call.keep("goes_on"), boolean)
                            : below;
  } else {
    goes_on = foreign::add_node(*graph, "aten.clone.default", {{"self", goes_on}}, call.keep("goes_on"), boolean);
  }
  graph->outputs.push_back({goes_on, "goes_on"});
  return graph;
}

/// The body puts what it makes at the place of its round into a tensor that goes along. Gives the tensors before and after.
std::vector<std::pair<ValueId, ValueId>> collect(WriteCall& call, Rounds& rounds) {
  foreign::Graph& body = *rounds.body.graph;
  std::vector<std::pair<ValueId, ValueId>> buffers;
  if (rounds.collected.empty()) return buffers;
  const ValueId place =
      foreign::add_node(body, "aten.reshape.default", {{"self", rounds.round}, {"shape", Ints{1}}}, call.keep("place"),
                        call.declared(Type::tensor(ElementType::int64, {Dim(1)})));
  for (const Collected& one : rounds.collected) {
    const foreign::TensorType type = call.declared(one.type);
    const ValueId before = body.add_value(call.keep("collected"), type);
    Type row = one.type;
    if (row.shape) (*row.shape)[static_cast<std::size_t>(one.axis)] = Dim(1);
    const ValueId added = foreign::add_node(body, "aten.unsqueeze.default", {{"self", one.made}, {"dim", one.axis}},
                                            call.keep("row"), call.declared(row));
    const ValueId after = foreign::add_node(body, "aten.index_copy.default",
                                            {{"self", before}, {"dim", one.axis}, {"index", place}, {"source", added}},
                                            call.keep("collected"), type);
    buffers.emplace_back(before, after);
  }
  return buffers;
}

ValueId room_for(WriteCall& call, const Collected& one) {
  Given::Mixed sizes;
  for (std::size_t i = 0; i < one.type.shape->size(); ++i)
    sizes.push_back(i == static_cast<std::size_t>(one.axis) ? one.rounds : size_argument(call, (*one.type.shape)[i]));
  return call.emit("aten.full.default",
                   {{"size", sizes}, number("fill_value", one.type.elem, 0), {"dtype", one.type.elem}}, one.type);
}

/// The results: the number of rounds, the condition if there is one, the states, what was collected.
std::vector<ValueId> emit_rounds(WriteCall& call, Rounds rounds) {
  foreign::Graph& body = *rounds.body.graph;
  const auto buffers = collect(call, rounds);
  const bool has_condition = rounds.goes_on != ValueId::none, has_limit = rounds.limit != ValueId::none;
  std::vector<ValueId> inputs = {rounds.round}, carried = {full(call, {}, 0, ElementType::int64)}, extra;
  std::vector<Type> types = {whole_number};
  if (has_condition) {
    inputs.push_back(rounds.goes_on);
    carried.push_back(rounds.first_goes_on);
    types.push_back(Type::tensor(ElementType::boolean, {}));
  }
  inputs.insert(inputs.end(), rounds.states.begin(), rounds.states.end());
  carried.insert(carried.end(), rounds.first_states.begin(), rounds.first_states.end());
  types.insert(types.end(), rounds.state_types.begin(), rounds.state_types.end());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Collected& one = rounds.collected[i];
    inputs.push_back(buffers[i].first);
    carried.push_back(room_for(call, one));
    types.push_back(one.type);
  }
  const std::size_t limit_place = inputs.size();
  const auto add_operand = [&](ValueId outer, ValueId inner) {
    extra.push_back(outer);
    inputs.push_back(inner);
  };
  if (has_limit) add_operand(rounds.limit, body.add_value(call.keep("limit"), call.declared(whole_number)));
  const ValueId one = body.add_value(call.keep("one"), call.declared(whole_number));
  add_operand(call.integer_scalar(1), one);
  for (std::size_t i = 0; i < rounds.operands.size(); ++i) add_operand(rounds.given_operands[i], rounds.operands[i]);
  const std::size_t own = body.inputs.size() - rounds.body.captures.size();
  for (std::size_t i = 0; i < rounds.body.captures.size(); ++i)
    add_operand(rounds.body.captures[i], body.inputs[own + i]);
  if (!captures_tensors(call, extra)) return {};
  const ValueId next = foreign::add_node(body, "aten.add.Tensor", {{"self", rounds.round}, {"other", one}},
                                         call.keep("next_round"), call.declared(whole_number));
  body.outputs = {{next, "next_round"}};
  if (has_condition) body.outputs.push_back({rounds.next_goes_on, "goes_on"});
  for (const ValueId state : rounds.next_states) body.outputs.push_back({state, "state"});
  for (const auto& [before, after] : buffers) body.outputs.push_back({after, "collected"});
  body.inputs = std::move(inputs);
  auto condition = condition_of(call, rounds, limit_place);
  foreign::Node node;
  node.op = "higher_order.while_loop";
  foreign::add_graph(node, "cond_fn", std::move(condition));
  foreign::add_graph(node, "body_fn", std::move(rounds.body.graph));
  add_list(node, "carried_inputs", carried);
  add_list(node, "additional_inputs", extra);
  return call.emit_node(std::move(node), types);
}

/// Refuses results whose sizes are not known before the first round; that of `axis` is the number of rounds.
bool has_room(WriteCall& call, const Type& type, Int axis, const std::variant<Int, ValueId>& rounds) {
  constexpr Int most_rounds = Int{1} << 20;
  const Int* constant = std::get_if<Int>(&rounds);
  bool fits =
      type.shape && static_cast<std::size_t>(axis) < type.shape->size() && !(constant && *constant > most_rounds);
  for (std::size_t i = 0; fits && i < type.shape->size(); ++i)
    fits = i == static_cast<std::size_t>(axis) || is_computable(call, (*type.shape)[i]);
  if (!fits)
    call.refuse("it collects a result of each round whose sizes are not known before the first",
                "give the sizes of its inputs, or write it as Scan");
  return fits;
}

/// Of a Loop, whose condition may end it before its limit.
bool collect_of_loop(WriteCall& call, Rounds& rounds, std::size_t states) {
  if (call.outputs() > states && foreign::has_open_rounds(call)) {
    call.refuse("it collects a result of each round, and their number is not limited",
                "state the greatest number of rounds");
    return false;
  }
  for (std::size_t o = states; o < call.outputs(); ++o) {
    const auto limit = integer_argument(call, 0);
    if (!has_room(call, call.output_type(o), 0, limit)) return false;
    rounds.collected.push_back({rounds.body.graph->outputs[o + 1].value, 0, call.output_type(o), limit});
  }
  return true;
}

void map_loop(WriteCall& call) {
  const std::size_t count = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  Rounds rounds;
  rounds.body = call.closed_body("body");
  if (call.refused()) return;
  const foreign::Graph& body = *rounds.body.graph;
  const std::size_t own = body.inputs.size() - rounds.body.captures.size();
  if (own != count + 2 || body.outputs.size() < count + 1 || body.outputs.size() < call.outputs() + 1)
    return call.refuse("its body does not fit its inputs");
  rounds.round = body.inputs[0];
  rounds.goes_on = body.inputs[1];
  rounds.next_goes_on = body.outputs[0].value;
  for (std::size_t i = 0; i < count; ++i) {
    rounds.states.push_back(body.inputs[i + 2]);
    rounds.next_states.push_back(body.outputs[i + 1].value);
    rounds.first_states.push_back(call.input(i + 2));
    rounds.state_types.push_back(i < call.outputs() ? call.output_type(i) : call.type(i + 2));
  }
  if (!collect_of_loop(call, rounds, count)) return;
  if (call.has(0)) rounds.limit = as_condition(call, call.input(0));
  rounds.first_goes_on = call.has(1) ? as_condition(call, call.input(1)) : full(call, {}, 1, ElementType::boolean);
  std::vector<ValueId> found = emit_rounds(call, std::move(rounds));
  if (found.empty()) return;
  for (std::size_t o = count; o < call.outputs(); ++o) {  // rounds that were not gone leave places
    const ValueId end = item(call, found[0], Dim());
    found[o + 2] =
        call.emit("aten.slice.Tensor", {{"self", found[o + 2]}, {"dim", Int{0}}, {"start", Int{0}}, {"end", end}},
                  call.output_type(o));
  }
  found.erase(found.begin(), found.begin() + 2);
  call.results(found);
}

/// An entry of a list of axes or directions; 0 where there is none.
Int entry_of(WriteCall& call, std::string_view name, std::size_t place) {
  const Ints all = call.integers(name);
  return place < all.size() ? all[place] : 0;
}

/// What the body of a Scan takes of each input: the place of the round along the axis.
void take_slices(WriteCall& call, Rounds& rounds, std::size_t states) {
  foreign::Graph& body = *rounds.body.graph;
  std::vector<foreign::Node> old = std::move(body.nodes);
  body.nodes.clear();
  const ValueId place =
      foreign::add_node(body, "aten.reshape.default", {{"self", rounds.round}, {"shape", Ints{1}}}, call.keep("place"),
                        call.declared(Type::tensor(ElementType::int64, {Dim(1)})));
  for (std::size_t i = states; i < call.node.inputs.size() && !call.refused(); ++i) {
    const std::size_t rank = call.rank(i);
    const Int axis = WriteCall::from_start({entry_of(call, "scan_input_axes", i - states)}, rank).front();
    if (call.refused() || static_cast<std::size_t>(axis) >= rank) return call.refuse("its axes do not fit its inputs");
    const Dim size = (*call.shape(i))[static_cast<std::size_t>(axis)];
    if (i == states) rounds.limit = full(call, {}, size, ElementType::int64);
    const bool is_reverse = entry_of(call, "scan_input_directions", i - states) != 0;
    rounds.given_operands.push_back(is_reverse ? flip(call, call.input(i), axis) : call.input(i));
    rounds.operands.push_back(body.add_value(call.keep("sliced"), call.declared(call.type(i))));
    Type row = call.type(i);
    (*row.shape)[static_cast<std::size_t>(axis)] = Dim(1);
    const ValueId one = foreign::add_node(body, "aten.index_select.default",
                                          {{"self", rounds.operands.back()}, {"dim", axis}, {"index", place}},
                                          call.keep("row"), call.declared(row));
    foreign::Node& squeeze = body.nodes.emplace_back();
    squeeze.op = "aten.squeeze.dim";
    squeeze.arguments.push_back(foreign::argument_of({"self", one}));
    squeeze.arguments.push_back(foreign::argument_of({"dim", axis}));
    squeeze.outputs = {body.inputs[i]};
  }
  std::move(old.begin(), old.end(), std::back_inserter(body.nodes));
}

/// The size of the first sliced input along its axis.
std::variant<Int, ValueId> size_of_slices(WriteCall& call, std::size_t input) {
  const std::size_t rank = call.rank(input);
  const Int axis = WriteCall::from_start({entry_of(call, "scan_input_axes", 0)}, rank).front();
  if (!call.refused() && (axis < 0 || static_cast<std::size_t>(axis) >= rank))
    call.refuse("its axes do not fit its inputs");
  return call.refused() ? Int{0} : size_argument(call, (*call.shape(input))[static_cast<std::size_t>(axis)]);
}

void map_scan(WriteCall& call) {
  const auto sliced = static_cast<std::size_t>(std::max<Int>(call.integer("num_scan_inputs", 0), 0));
  const std::size_t inputs = call.node.inputs.size();
  Rounds rounds;
  rounds.body = call.closed_body("body");
  if (call.refused()) return;
  foreign::Graph& body = *rounds.body.graph;
  const std::size_t states = inputs - std::min(sliced, inputs);
  if (sliced == 0 || sliced > inputs || body.inputs.size() - rounds.body.captures.size() != inputs ||
      body.outputs.size() < states || body.outputs.size() < call.outputs())
    return call.refuse("its body does not fit its inputs");
  rounds.round = body.add_value(call.keep("round"), call.declared(whole_number));
  const std::variant<Int, ValueId> count = size_of_slices(call, states);
  for (std::size_t i = 0; i < states; ++i) {
    rounds.states.push_back(body.inputs[i]);
    rounds.next_states.push_back(body.outputs[i].value);
    rounds.first_states.push_back(call.input(i));
    rounds.state_types.push_back(i < call.outputs() ? call.output_type(i) : call.type(i));
  }
  for (std::size_t o = states; o < call.outputs(); ++o) {
    const Type& type = call.output_type(o);
    const std::size_t rank = type.shape ? type.shape->size() : 0;
    const Int axis = WriteCall::from_start({entry_of(call, "scan_output_axes", o - states)}, rank).front();
    if (!has_room(call, type, axis, count)) return;
    rounds.collected.push_back({body.outputs[o].value, axis, type, count});
  }
  take_slices(call, rounds, states);
  if (call.refused()) return;
  std::vector<ValueId> found = emit_rounds(call, std::move(rounds));
  if (found.empty()) return;
  found.erase(found.begin());
  for (std::size_t o = states; o < call.outputs(); ++o) {
    const Int axis =
        WriteCall::from_start({entry_of(call, "scan_output_axes", o - states)}, call.output_type(o).shape->size())
            .front();
    if (entry_of(call, "scan_output_directions", o - states) != 0) found[o] = flip(call, found[o], axis);
  }
  call.results(found);
}

}  // namespace

void register_control_flow(Writers& writers);
void register_control_flow(Writers& writers) {
  writers.add("If", map_if);
  writers.add("Loop", map_loop);
  writers.add("Scan", map_scan);
}

}  // namespace onnxkit::aten
