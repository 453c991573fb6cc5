#include "converters/foreign/tensorflow_family/loops.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace onnxkit::tensorflow_family {

WriteCall::Body body_of(WriteCall& call, std::string_view attribute) {
  constexpr std::size_t least_weight = 1024;
  WriteCall::Body body =
      call.dialect().is_lite ? call.body(attribute, true) : call.closed_body(attribute, least_weight);
  if (!call.refused()) foreign::has_values_of_tensors(call, body);
  return body;
}

namespace {

/// Refuses a body that has not so many inputs before its captures, or less than so many outputs.
bool fits(WriteCall& call, const WriteCall::Body& body, std::size_t inputs, std::size_t least_outputs) {
  if (body.graph->inputs.size() != inputs + body.captures.size() || body.graph->outputs.size() < least_outputs)
    call.refuse("its body does not fit its inputs");
  return !call.refused();
}

/// The number of the round behind this one.
ValueId next_round(WriteCall& call, Rounds& rounds, ValueId round, ElementType elem) {
  return rounds.inside().node(name_in_dialect(call, "AddV2"),
                              {{"x", round}, {"y", rounds.inside().constant(elem, {1}, {})}},
                              foreign::scalar_type(elem));
}

/// A state, which is an input and an output of the node, and of its body.
std::size_t carry_state(WriteCall& call, Rounds& rounds, std::size_t state, std::size_t input, std::size_t computed) {
  return rounds.carry(call.input(input), rounds.input(input), rounds.computed(computed),
                      state < call.outputs() ? Type(call.output_type(state)) : Type(call.type(input)));
}

/// The round, the condition, the limit and the states of a Loop.
Carried carry_loop(WriteCall& call, Rounds& rounds, std::size_t states) {
  constexpr ElementType whole = ElementType::int64;
  Carried carried{.round = rounds.input(0), .round_elem = whole};
  carried.counter = rounds.carry(call.scalar(whole, 0), carried.round, next_round(call, rounds, carried.round, whole),
                                 Type::tensor(whole, {}));
  carried.goes_on = rounds.carry(call.has(1) ? as_scalar(call, call.input(1)) : call.scalar(ElementType::boolean, 1),
                                 rounds.input(1), rounds.computed(0), Type::tensor(ElementType::boolean, {}));
  if (call.has(0)) {
    carried.length = as_scalar(call, call.input(0));
    carried.limit = *carried.goes_on + 1;
    carried.makes_room = !foreign::has_open_rounds(call);
    rounds.keep(carried.length);
  }
  for (std::size_t s = 0; s < states && !call.refused(); ++s) {
    if (!call.type(s + 2).is_tensor()) call.refuse("it carries what is not a tensor");
    carried.results.push_back(carry_state(call, rounds, s, s + 2, s + 1));
  }
  return carried;
}

/// What a Scan says of its inputs and outputs behind the states.
struct ScanItems {
  std::size_t states = 0, sequences = 0;
  Ints input_axes, output_axes;
  Ints input_directions, output_directions;  ///< 1: from the last round on
};

/// Refuses a Scan that goes along nothing.
std::optional<ScanItems> scan_items(WriteCall& call) {
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("num_scan_inputs", 0), 0));
  const std::size_t inputs = call.node.inputs.size();
  if (sequences == 0 || sequences > inputs) {
    call.refuse("it has no inputs to go along");
    return std::nullopt;
  }
  return ScanItems{.states = inputs - sequences,
                   .sequences = sequences,
                   .input_axes = foreign::item_list(call, "scan_input_axes", sequences),
                   .output_axes = foreign::item_list(call, "scan_output_axes", call.outputs()),
                   .input_directions = foreign::item_list(call, "scan_input_directions", sequences),
                   .output_directions = foreign::item_list(call, "scan_output_directions", call.outputs())};
}

/// The slices of a round, before the nodes of the body.
void take_slices(WriteCall& call, Rounds& rounds, ValueId round, const ScanItems& items) {
  std::vector<foreign::Node> body_nodes = std::exchange(rounds.graph().nodes, {});
  for (std::size_t s = 0; s < items.sequences; ++s) {
    const std::size_t input = items.states + s;
    const std::int64_t axis = WriteCall::from_start({items.input_axes[s]}, call.rank(input)).front();
    const ValueId whole = call.input(input);
    const ValueId inner = rounds.keep(items.input_directions[s] != 0 ? reversed(call, whole, axis) : whole);
    std::vector<Given> given = {{"params", inner}, {"indices", round}};
    if (call.dialect().is_lite)
      given.push_back({"axis", axis});
    else
      given.push_back({"axis", rounds.inside().constant(ElementType::int32, {axis}, {})});
    rounds.inside().compute(rounds.input(input), name_in_dialect(call, "GatherV2"), given);
  }
  std::move(body_nodes.begin(), body_nodes.end(), std::back_inserter(rounds.graph().nodes));
}

/// The round, its limit and the states of a Scan, whose body takes its slices first.
Carried carry_scan(WriteCall& call, Rounds& rounds, const ScanItems& items) {
  constexpr ElementType narrow = ElementType::int32;
  Carried carried{.round = rounds.graph().add_value(call.keep("round"), foreign::scalar_type(narrow)),
                  .round_elem = narrow};
  carried.counter = rounds.carry(call.scalar(narrow, 0), carried.round, next_round(call, rounds, carried.round, narrow),
                                 Type::tensor(narrow, {}));
  carried.limit = carried.counter + 1;
  carried.makes_room = true;
  const std::size_t rank = call.rank(items.states);
  const auto axis = static_cast<std::size_t>(WriteCall::from_start({items.input_axes[0]}, rank).front());
  if (call.refused() || axis >= rank) {
    call.refuse("the rank of its input is not known");
    return carried;
  }
  carried.length = as_scalar(call, sizes_vector(call, {(*call.shape(items.states))[axis]}));
  if (call.refused()) return carried;
  rounds.keep(carried.length);
  take_slices(call, rounds, carried.round, items);
  for (std::size_t s = 0; s < items.states; ++s) carried.results.push_back(carry_state(call, rounds, s, s, s));
  return carried;
}

/// The type of what a node collects: of a Scan with the axis of the rounds first.
Type collected_type(WriteCall& call, std::size_t output, const ScanItems* items) {
  Type whole = call.output_type(output);
  if (!items) return whole;
  if (!whole.shape || whole.shape->empty()) {
    call.refuse(call.dialect().is_lite ? "the shape of what it collects is not known"
                                       : "the rank of what it collects is not known");
    return whole;
  }
  const std::int64_t axis = items->output_axes[output - items->states];
  const auto first = whole.shape->begin() + WriteCall::from_start({axis}, whole.shape->size()).front();
  std::rotate(whole.shape->begin(), first, first + 1);
  return whole;
}

/// What a Scan collected along the first axis, as its output has it.
ValueId scanned(WriteCall& call, ValueId collected, std::size_t output, const ScanItems& items) {
  const std::size_t item = output - items.states;
  if (items.output_directions[item] != 0) collected = reversed(call, collected, 0);
  const std::size_t rank = call.output_type(output).shape->size();
  Ints order;
  for (std::size_t a = 1; a < rank; ++a) order.push_back(static_cast<std::int64_t>(a));
  order.insert(order.begin() + WriteCall::from_start({items.output_axes[item]}, rank).front(), 0);
  return transpose(call, collected, order);
}

/// The loop, of a body whose outputs behind the states are collected: `behind` outputs come before all of these. `items` are those of a Scan.
void write_rounds(WriteCall& call, Rounds& rounds, Carried carried, const Collecting& how, std::size_t given,
                  std::size_t behind, const ScanItems* items) {
  const std::size_t states = carried.results.size();
  if (call.refused()) return;
  for (std::size_t o = states; o < given; ++o) {
    const bool is_asked = call.has_output(o);  // nobody asks for others
    carried.results.push_back(
        is_asked ? how.collect(call, rounds, carried, rounds.computed(o + behind), collected_type(call, o, items))
                 : carried.counter);
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(how.operators, carried.counter, carried.limit, carried.goes_on);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < given; ++o) {
    ValueId result = last[carried.results[o]];
    if (o >= states && call.has_output(o)) {
      result = how.collected(call, carried, result, last[carried.counter], collected_type(call, o, items));
      if (items) result = scanned(call, result, o, *items);
    }
    results.push_back(result);
  }
  call.results(results);
}

}  // namespace

void write_loop(WriteCall& call, const Collecting& how) {
  const std::size_t states = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  WriteCall::Body body = body_of(call, "body");
  if (call.refused() || !fits(call, body, states + 2, states + 1)) return;
  const std::size_t given = body.graph->outputs.size() - 1;
  Rounds rounds(call, std::move(body));
  write_rounds(call, rounds, carry_loop(call, rounds, states), how, given, 1, nullptr);
}

void write_scan(WriteCall& call, const Collecting& how) {
  const auto items = scan_items(call);
  if (!items) return;
  WriteCall::Body body = body_of(call, "body");
  if (call.refused() || !fits(call, body, items->states + items->sequences, items->states)) return;
  const std::size_t given = body.graph->outputs.size();
  Rounds rounds(call, std::move(body));
  write_rounds(call, rounds, carry_scan(call, rounds, *items), how, given, 0, &*items);
}

}  // namespace onnxkit::tensorflow_family
