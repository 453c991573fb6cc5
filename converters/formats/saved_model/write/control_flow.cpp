// Branches and loops, whose bodies are functions of the library. Results of rounds are collected in lists of tensors.
#include <algorithm>
#include <iterator>
#include <utility>

#include "converters/foreign/written_bodies.h"
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

using foreign::Node;
using foreign::Rounds;
using Body = WriteCall::Body;

ValueId as_scalar(WriteCall& call, ValueId value) {
  const Type& type = call.type_of(value);
  return type.shape && type.shape->empty() ? value : reshape(call, value, Shape());
}

/// Small constants are in the function, weights are given to it.
Body body_of(WriteCall& call, std::string_view attribute) {
  constexpr std::size_t least_weight = 1024;
  Body body = call.closed_body(attribute, least_weight);
  foreign::has_values_of_tensors(call, body);
  return body;
}

void map_if(WriteCall& call) {
  Body then_body = body_of(call, "then_branch"), else_body = body_of(call, "else_branch");
  if (call.refused()) return;
  foreign::write_branches(call, {"StatelessIf", "then_branch", "else_branch"}, as_scalar(call, call.input(0)),
                          std::move(then_body), std::move(else_body));
}

/// Sizes of what one round gives, -1 for those that no value has; a lone -1 where the rank is unknown.
ValueId element_shape(WriteCall& call, const Type& whole) {
  if (!whole.shape || whole.shape->empty()) return call.scalar(ElementType::int32, -1);
  const Shape sizes(whole.shape->begin() + 1, whole.shape->end());
  if (sizes.empty()) return numbers(call, {});
  if (are_computable(call, sizes)) return sizes_vector(call, sizes);
  Ints known;
  for (const Dim& size : sizes) known.push_back(size.is_constant() ? size.constant() : -1);
  return numbers(call, known);
}

/// A result of each round, behind those of rounds before: its place among the carried ones.
std::size_t collect(WriteCall& call, Rounds& rounds, ValueId result, const Type& whole) {
  const ValueId list = call.emit("EmptyTensorList",
                                 {{"element_shape", element_shape(call, whole)},
                                  {"max_num_elements", call.scalar(ElementType::int32, -1)},
                                  {"element_dtype", whole.elem}},
                                 Type::tensor(whole.elem));
  const foreign::TensorType type = foreign::of_unknown_shape(whole.elem);
  const ValueId before = rounds.graph().add_value(call.keep("collected"), type);
  const ValueId after = rounds.inside().node(
      "TensorListPushBack", {{"input_handle", before}, {"tensor", result}, {"element_dtype", whole.elem}}, type);
  return rounds.carry(list, before, after, Type::tensor(whole.elem));
}

/// What was collected there, as a tensor.
ValueId stacked(WriteCall& call, ValueId list, const Type& whole) {
  return call.emit(
      "TensorListStack",
      {{"input_handle", list}, {"element_shape", element_shape(call, whole)}, {"element_dtype", whole.elem}}, whole);
}

constexpr foreign::LoopOperators loop_operators = {"StatelessWhile", "Less", "LogicalAnd", true};

/// The number of the round behind this one.
ValueId next_round(Rounds& rounds, ValueId round, ElementType elem) {
  return rounds.inside().node("AddV2", {{"x", round}, {"y", rounds.inside().constant(elem, {1}, {})}},
                              foreign::scalar_type(elem));
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
    places.push_back(is_asked ? collect(call, rounds, rounds.computed(1 + states + c), call.output_type(states + c))
                              : counter);
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(loop_operators, counter, limit, goes_on);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o)
    results.push_back(o < states || !call.has_output(o) ? last[places[o]]
                                                        : stacked(call, last[places[o]], call.output_type(o)));
  call.results(results);
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
    rounds.inside().compute(
        rounds.input(states + s), "GatherV2",
        {{"params", inner}, {"indices", round}, {"axis", rounds.inside().constant(ElementType::int32, {axis}, {})}});
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
  const Ints in_axes = foreign::item_list(call, "scan_input_axes", sequences),
             out_axes = foreign::item_list(call, "scan_output_axes", collected),
             turned = foreign::item_list(call, "scan_output_directions", collected);
  Rounds rounds(call, std::move(body));
  constexpr ElementType narrow = ElementType::int32;
  const ValueId round = rounds.graph().add_value(call.keep("round"), foreign::scalar_type(narrow));
  const std::size_t counter =
      rounds.carry(call.scalar(narrow, 0), round, next_round(rounds, round, narrow), Type::tensor(narrow, {}));
  const std::size_t rank = call.rank(states);
  const auto first_axis = static_cast<std::size_t>(WriteCall::from_start({in_axes[0]}, rank).front());
  if (call.refused() || first_axis >= rank) return call.refuse("the rank of its input is not known");
  const ValueId length = reshape(call, sizes_vector(call, {(*call.shape(states))[first_axis]}), Shape());
  if (call.refused()) return;
  rounds.keep(length);
  take_slices(call, rounds, round, states, in_axes, foreign::item_list(call, "scan_input_directions", sequences));
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < states; ++s)
    places.push_back(rounds.carry(call.input(s), rounds.input(s), rounds.computed(s),
                                  s < call.outputs() ? Type(call.output_type(s)) : Type(call.type(s))));
  for (std::size_t c = 0; c < collected; ++c) {
    const bool is_asked = call.has_output(states + c);
    places.push_back(
        is_asked ? collect(call, rounds, rounds.computed(states + c), collected_type(call, states + c, out_axes[c]))
                 : counter);
  }
  rounds.carry_captures();
  if (call.refused()) return;
  const std::vector<ValueId> last = rounds.write(loop_operators, counter, counter + 1, std::nullopt);
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < call.outputs() && o < places.size(); ++o) {
    ValueId result = last[places[o]];
    if (o >= states && call.has_output(o)) {
      const std::size_t c = o - states;
      result = stacked(call, result, collected_type(call, o, out_axes[c]));
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
