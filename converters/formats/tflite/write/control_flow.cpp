// Branches and loops, whose bodies are subgraphs.
#include <utility>

#include "converters/foreign/tensorflow_family/loops.h"
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::of_unknown_shape;
using foreign::scalar_type;
using Body = WriteCall::Body;

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

/// What was collected, with the row of the round at its place.
ValueId with_row(Rounds& rounds, const Carried& carried, ValueId before, ValueId row, std::int64_t rank) {
  const foreign::TensorType type = of_unknown_shape(rounds.graph().values[index_of(before)].type->elem);
  if (!carried.makes_room)
    return rounds.inside().node("CONCATENATION",
                                {{"values", std::vector<ValueId>{before, row}}, {"axis", std::int64_t{0}}}, type);
  const ValueId first =
      rounds.inside().node("EXPAND_DIMS",
                           {{"x", as_int32(rounds, carried.round, carried.round_elem)},
                            {"axis", rounds.inside().constant(ElementType::int32, {0}, {})}},
                           {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{1}}, .strides = {}});
  const ValueId place = rounds.inside().node(
      "PAD", {{"x", first}, {"paddings", rounds.inside().constant(ElementType::int32, {0, rank - 1}, {1, 2})}},
      {.elem = ElementType::int32, .shape = std::vector<foreign::Size>{{rank}}, .strides = {}});
  return rounds.inside().node("DYNAMIC_UPDATE_SLICE", {{"x", before}, {"update", row}, {"start", place}}, type);
}

/// A result of each round, behind those of rounds before: its place among the carried ones. What grows begins with a row of its own, since the runtime
/// does not carry tensors without elements.
std::size_t collect(WriteCall& call, Rounds& rounds, const Carried& carried, ValueId result, const Type& whole) {
  if (!whole.shape || whole.shape->empty()) call.refuse("the shape of what it collects is not known");
  if (call.refused()) return 0;
  const Shape sizes(whole.shape->begin() + 1, whole.shape->end());
  std::vector<ValueId> parts = {carried.makes_room
                                    ? reshape(call, cast(call, carried.length, ElementType::int32), {Dim(1)})
                                    : numbers(call, {1})};
  if (!sizes.empty()) parts.push_back(sizes_vector(call, sizes));
  if (call.refused()) return 0;
  const auto rank = static_cast<std::int64_t>(sizes.size() + 1);
  const ValueId dims = concat(call, parts, 0, Type::tensor(ElementType::int32, {Dim(rank)}));
  const ValueId zeros = fill(call, dims, call.scalar(whole.elem, 0), Type::tensor(whole.elem));
  const ValueId before = rounds.graph().add_value(call.keep("collected"), of_unknown_shape(whole.elem));
  const ValueId row = rounds.inside().node(
      "EXPAND_DIMS", {{"x", result}, {"axis", rounds.inside().constant(ElementType::int32, {0}, {})}},
      of_unknown_shape(whole.elem));
  const ValueId after = with_row(rounds, carried, before, row, rank);
  Type carried_type = whole;
  if (!carried.makes_room) carried_type.shape->front() = Dim();
  return rounds.carry(zeros, before, after, std::move(carried_type));
}

/// What rounds that did not come would have given is left out, and the row that was there before the first.
ValueId collected(WriteCall& call, const Carried& carried, ValueId last, ValueId count, const Type& whole) {
  if (!carried.goes_on) return last;
  const std::size_t rank = whole.shape ? whole.shape->size() : 0;
  if (rank == 0) {
    call.refuse("the rank of what it collects is not known");
    return last;
  }
  if (!carried.makes_room) {
    Ints begins(rank, 0);
    begins.front() = 1;
    return part(call, last, begins, std::vector<std::optional<std::int64_t>>(rank), Ints(rank, 1), Type(whole));
  }
  std::vector<ValueId> ends = {reshape(call, cast(call, count, ElementType::int32), {Dim(1)})};
  if (rank > 1) ends.push_back(numbers(call, Ints(rank - 1, 0)));
  const ValueId until = concat(call, ends, 0, Type::tensor(ElementType::int32, {Dim(static_cast<std::int64_t>(rank))}));
  return call.emit("STRIDED_SLICE",
                   {{"x", last},
                    {"begin", numbers(call, Ints(rank, 0))},
                    {"end", until},
                    {"strides", numbers(call, Ints(rank, 1))},
                    {"end_mask", (std::int64_t{1} << rank) - 2}},
                   whole);
}

constexpr Collecting in_tensors = {
    .operators = {"WHILE", "LESS", "LOGICAL_AND"}, .collect = collect, .collected = collected};

void map_loop(WriteCall& call) { write_loop(call, in_tensors); }
void map_scan(WriteCall& call) { write_scan(call, in_tensors); }

}  // namespace

void register_control_flow(Writers& writers);
void register_control_flow(Writers& writers) {
  writers.add("If", map_if);
  writers.add("Loop", map_loop);
  writers.add("Scan", map_scan);
}

}  // namespace onnxkit::to_tflite
