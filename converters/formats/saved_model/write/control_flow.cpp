// Branches and loops, whose bodies are functions of the library. Results of rounds are collected in lists of tensors.
#include <utility>

#include "converters/foreign/tensorflow_family/loops.h"
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

using Body = WriteCall::Body;

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
std::size_t collect(WriteCall& call, Rounds& rounds, const Carried&, ValueId result, const Type& whole) {
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
ValueId stacked(WriteCall& call, const Carried&, ValueId list, ValueId, const Type& whole) {
  return call.emit(
      "TensorListStack",
      {{"input_handle", list}, {"element_shape", element_shape(call, whole)}, {"element_dtype", whole.elem}}, whole);
}

constexpr Collecting in_lists = {
    .operators = {"StatelessWhile", "Less", "LogicalAnd", true}, .collect = collect, .collected = stacked};

void map_loop(WriteCall& call) { write_loop(call, in_lists); }
void map_scan(WriteCall& call) { write_scan(call, in_lists); }

}  // namespace

void register_control_flow(Writers& writers);
void register_control_flow(Writers& writers) {
  writers.add("If", map_if);
  writers.add("Loop", map_loop);
  writers.add("Scan", map_scan);
}

}  // namespace onnxkit::to_tensorflow
