// Branches and loops, whose bodies are subgraphs.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "converters/foreign/written_bodies.h"
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Node;
using foreign::of_unknown_shape;
using foreign::Rounds;
using foreign::scalar_type;
using Body = WriteCall::Body;

ValueId as_scalar(WriteCall& call, ValueId value) {
  const Type& type = call.type_of(value);
  return type.shape && type.shape->empty() ? value : reshape(call, value, Shape());
}

void map_if(WriteCall& call) {
  Body then_body = call.body("then_branch", true), else_body = call.body("else_branch", true);
  if (call.refused() || !foreign::has_values_of_tensors(call, then_body) ||
      !foreign::has_values_of_tensors(call, else_body))
    return;
  foreign::write_branches(call, {"IF", "then", "else"}, as_scalar(call, call.input(0)), std::move(then_body),
                          std::move(else_body));
}

ValueId as_int32(Rounds& rounds, ValueId value, ElementType elem) {
  if (elem == ElementType::int32) return value;
  return rounds.inside().node("CAST", {{"x", value}, {"in_data_type", elem}, {"out_data_type", ElementType::int32}},
                              scalar_type(ElementType::int32));
}

/// A result of each round, behind those of rounds before: its place among the carried ones.
std::size_t collect(WriteCall& call, Rounds& rounds, ValueId result, ValueId round, ElementType round_elem,
                    ValueId length, const Type& whole) {
  if (!whole.shape || whole.shape->empty()) call.refuse("the shape of what it collects is not known");
  if (call.refused()) return 0;
  const Shape sizes(whole.shape->begin() + 1, whole.shape->end());
  std::vector<ValueId> parts = {reshape(call, length, {Dim(1)})};
  if (!sizes.empty()) parts.push_back(sizes_vector(call, sizes));
  if (call.refused()) return 0;
  const auto rank = static_cast<std::int64_t>(sizes.size() + 1);
  const ValueId dims = concat(call, parts, 0, Type::tensor(ElementType::int32, {Dim(rank)}));
  const ValueId zeros =
      call.emit("FILL", {{"dims", dims}, {"value", call.scalar(whole.elem, 0)}}, Type::tensor(whole.elem));
  const ValueId before = rounds.graph().add_value(call.keep("collected"), of_unknown_shape(whole.elem));
  const ValueId row = rounds.inside().node(
      "EXPAND_DIMS", {{"x", result}, {"axis", rounds.inside().constant(ElementType::int32, {0}, {})}},
      of_unknown_shape(whole.elem));
  const ValueId first = rounds.inside().node(
      "EXPAND_DIMS",
      {{"x", as_int32(rounds, round, round_elem)}, {"axis", rounds.inside().constant(ElementType::int32, {0}, {})}},
      {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{1}}, .strides = {}});
  const ValueId place = rounds.inside().node(
      "PAD", {{"x", first}, {"paddings", rounds.inside().constant(ElementType::int32, {0, rank - 1}, {1, 2})}},
      {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{rank}}, .strides = {}});
  const ValueId after = rounds.inside().node("DYNAMIC_UPDATE_SLICE", {{"x", before}, {"update", row}, {"start", place}},
                                             of_unknown_shape(whole.elem));
  return rounds.carry(zeros, before, after, Type(whole));
}

constexpr foreign::LoopOperators loop_operators = {"WHILE", "LESS", "LOGICAL_AND"};

/// The number of the round behind this one.
ValueId next_round(Rounds& rounds, ValueId round, ElementType elem) {
  return rounds.inside().node("ADD", {{"x", round}, {"y", rounds.inside().constant(elem, {1}, {})}}, scalar_type(elem));
}

void map_loop(WriteCall& call) {
  const std::size_t states = call.node.inputs.size() < 2 ? 0 : call.node.inputs.size() - 2;
  Body body = call.body("body", true);
  if (call.refused() || !foreign::has_values_of_tensors(call, body)) return;
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
        collect(call, rounds, rounds.computed(1 + states + c), round, whole, length, call.output_type(states + c)));
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(loop_operators, counter, limit, goes_on);
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

void map_scan(WriteCall& call) {
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("num_scan_inputs", 0), 0));
  if (sequences == 0 || sequences > call.node.inputs.size()) return call.refuse("it has no inputs to go along");
  const std::size_t states = call.node.inputs.size() - sequences;
  Body body = call.body("body", true);
  if (call.refused() || !foreign::has_values_of_tensors(call, body)) return;
  if (body.graph->inputs.size() != states + sequences + body.captures.size() || body.graph->outputs.size() < states)
    return call.refuse("its body does not fit its inputs");
  const std::size_t collected = body.graph->outputs.size() - states;
  const Ints in_axes = foreign::item_list(call, "scan_input_axes", sequences),
             out_axes = foreign::item_list(call, "scan_output_axes", collected);
  const Ints backwards = foreign::item_list(call, "scan_input_directions", sequences),
             turned = foreign::item_list(call, "scan_output_directions", collected);
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
    rounds.inside().compute(part, "GATHER", {{"x", inner}, {"indices", round}, {"axis", axis}});
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
    places.push_back(collect(call, rounds, rounds.computed(states + c), round, narrow, length, whole));
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(loop_operators, counter, limit, std::nullopt);
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
