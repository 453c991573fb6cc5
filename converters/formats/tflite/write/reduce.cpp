// Reductions over axes, and places of extremes.
#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Counterpart;

constexpr Counterpart plain_names[] = {
    {"ReduceMean", "MEAN"},      {"ReduceSum", "SUM"},          {"ReduceMax", "REDUCE_MAX"},
    {"ReduceMin", "REDUCE_MIN"}, {"ReduceProd", "REDUCE_PROD"},
};

/// Axes that are computed; none of them stands for all. nullopt when they are known, or cannot be told.
std::optional<ValueId> computed_axes(WriteCall& call) {
  if (!call.has(1) || call.known_integers(1)) return std::nullopt;
  const auto count = call.size(1, 0);
  if (!count || *count == 0) return std::nullopt;
  return cast(call, call.input(1), ElementType::int32);
}

/// Booleans: whether any, or all, are true.
std::string_view of_booleans(std::string_view op) {
  return op == "REDUCE_MAX" ? "REDUCE_ANY" : op == "REDUCE_MIN" ? "REDUCE_ALL" : op;
}

void map_plain_reduction(WriteCall& call) {
  const std::string_view op = foreign::counterpart(plain_names, call.node);
  const ElementType elem = call.elem(0);
  if (const auto at = computed_axes(call); at && elem == ElementType::float32)
    return call.result(
        call.emit(op, {{"x", call.input(0)}, {"axes", *at}, {"keep_dims", keeps_axes(call)}}, call.output_type()));
  if (call.has(1) && !call.known_integers(1) && call.size(1, 0) == 0 && call.integer("noop_with_empty_axes", 0) != 0)
    return call.result(call.input(0));
  const auto axes = reduced_axes(call);
  if (!axes) return;
  if (elem == ElementType::boolean && op != of_booleans(op))
    return call.result(reduced(call, of_booleans(op), call.input(0), *axes, keeps_axes(call)));
  const bool is_native = elem == ElementType::float32 || elem == ElementType::int32 || elem == ElementType::int64;
  const ValueId x = is_native ? call.input(0) : cast(call, call.input(0), ElementType::int32);
  if (op == "MEAN" && is_integer(elem)) return call.refuse("its kernel has no means of integers");
  const ValueId result = reduced(call, op, x, *axes, keeps_axes(call));
  call.result(elem == ElementType::boolean ? compare(call, "NOT_EQUAL", result, number(call, 0))
                                           : cast(call, result, elem));
}

/// max + log(sum(e^(x - max)))
void map_reduce_log_sum_exp(WriteCall& call) {
  const auto axes = reduced_axes(call);
  if (!axes) return;
  if (call.elem(0) != ElementType::float32) return call.refuse("it reduces other elements than float32");
  const ValueId x = call.input(0);
  const ValueId greatest = reduced(call, "REDUCE_MAX", x, *axes, true);
  const ValueId powers = unary(call, "EXP", binary(call, "SUB", x, greatest));
  const ValueId sum = binary(call, "ADD", unary(call, "LOG", reduced(call, "SUM", powers, *axes, true)), greatest);
  if (keeps_axes(call) || axes->empty()) return call.result(sum);
  if (!call.output_type().shape) return call.refuse("the shape of its result is not known");
  call.result(reshape(call, sum, *call.output_type().shape));
}

void map_place_of_extreme(WriteCall& call) {
  const std::string_view op = call.node.op_type == "ArgMax" ? "ARG_MAX" : "ARG_MIN";
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  const bool takes_last = call.integer("select_last_index", 0) != 0;
  const auto size = call.rank(0) == 0 ? std::nullopt : call.size(0, static_cast<std::size_t>(axis));
  if (takes_last && !size) return call.refuse("it takes the last of equal elements of an axis of unknown size");
  ValueId x = call.input(0);
  if (takes_last) x = reversed(call, x, axis);  // the first from behind
  Type type = Type::tensor(ElementType::int64);
  if (call.shape(0)) {
    type.shape = *call.shape(0);
    type.shape->erase(type.shape->begin() + axis);
  }
  ValueId place =
      call.emit(op, {{"x", x}, {"axis", number(call, axis)}, {"output_type", ElementType::int64}}, std::move(type));
  if (takes_last) place = binary(call, "SUB", call.integer_scalar(*size - 1), place);
  call.result(keeps_axes(call) ? expand_dims(call, place, axis) : place);
}

void map_cumsum(WriteCall& call) {
  const auto axis = call.known_integers(1);
  if (axis && axis->size() != 1) return call.refuse("its axis is not one number");
  const ValueId place = axis ? number(call, WriteCall::from_start(*axis, call.rank(0)).front())
                             : as_scalar(call, cast(call, call.input(1), ElementType::int32));
  call.result(call.emit("CUMSUM",
                        {{"x", call.input(0)},
                         {"axis", place},
                         {"exclusive", call.integer("exclusive", 0) != 0},
                         {"reverse", call.integer("reverse", 0) != 0}},
                        call.output_type()));
}

}  // namespace

void register_reduce(Writers& writers);
void register_reduce(Writers& writers) {
  for (const Counterpart& row : plain_names) writers.add(row.first, map_plain_reduction);
  writers.add("ReduceLogSumExp", map_reduce_log_sum_exp);
  writers.add({"ArgMax", "ArgMin"}, map_place_of_extreme);
  writers.add("CumSum", map_cumsum);
}

}  // namespace onnxkit::to_tflite
