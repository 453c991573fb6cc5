// Reductions over axes, and places of extremes.
#include <algorithm>
#include <numeric>

#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::keeps_axes;
using foreign::reduced_axes;

/// Axes that are computed; none of them stands for all. nullopt when they are known, or cannot be told.
std::optional<ValueId> computed_axes(WriteCall& call) {
  if (!call.has(1) || call.known_integers(1)) return std::nullopt;
  const auto count = call.size(1, 0);
  if (!count || *count == 0) return std::nullopt;
  return cast(call, call.input(1), ElementType::int32);
}

ValueId reduced(WriteCall& call, std::string_view op, ValueId x, const Ints& axes, bool keeps) {
  return axes.empty() ? x : reduce(call, op, x, axes, keeps);
}

/// Booleans: whether any, or all, are true.
std::string_view of_booleans(std::string_view op) {
  return op == "REDUCE_MAX" ? "REDUCE_ANY" : op == "REDUCE_MIN" ? "REDUCE_ALL" : op;
}

void plain_reduction(WriteCall& call, std::string_view op) {
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
  call.result(elem == ElementType::boolean ? compare(call, "NOT_EQUAL", result, call.scalar(ElementType::int32, 0))
                                           : cast(call, result, elem));
}
void map_reduce_mean(WriteCall& call) { plain_reduction(call, "MEAN"); }
void map_reduce_sum(WriteCall& call) { plain_reduction(call, "SUM"); }
void map_reduce_max(WriteCall& call) { plain_reduction(call, "REDUCE_MAX"); }
void map_reduce_min(WriteCall& call) { plain_reduction(call, "REDUCE_MIN"); }
void map_reduce_prod(WriteCall& call) { plain_reduction(call, "REDUCE_PROD"); }

/// A sum of something of each element, and something of the sum.
void composed_reduction(WriteCall& call, std::string_view before, std::string_view after) {
  const auto axes = reduced_axes(call);
  if (!axes) return;
  if (call.elem(0) != ElementType::float32) return call.refuse("it reduces other elements than float32");
  ValueId x = call.input(0);
  if (!before.empty()) x = unary(call, before, x);
  x = reduced(call, "SUM", x, *axes, keeps_axes(call));
  call.result(after.empty() ? x : unary(call, after, x));
}
void map_reduce_l1(WriteCall& call) { composed_reduction(call, "ABS", ""); }
void map_reduce_l2(WriteCall& call) { composed_reduction(call, "SQUARE", "SQRT"); }
void map_reduce_sum_square(WriteCall& call) { composed_reduction(call, "SQUARE", ""); }
void map_reduce_log_sum(WriteCall& call) { composed_reduction(call, "", "LOG"); }

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

void place_of_extreme(WriteCall& call, std::string_view op) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  const bool takes_last = call.integer("select_last_index", 0) != 0;
  const auto size = call.rank(0) == 0 ? std::nullopt : call.size(0, static_cast<std::size_t>(axis));
  if (takes_last && !size) return call.refuse("it takes the last of equal elements of an axis of unknown size");
  ValueId x = call.input(0);
  if (takes_last)  // the first from behind
    x = call.emit("REVERSE_V2", {{"x", x}, {"axes", numbers(call, {axis})}}, Type(call.type(0)));
  Type type = Type::tensor(ElementType::int64);
  if (call.shape(0)) {
    type.shape = *call.shape(0);
    type.shape->erase(type.shape->begin() + axis);
  }
  ValueId place = call.emit(op,
                            {{"x", x},
                             {"axis", call.scalar(ElementType::int32, static_cast<double>(axis))},
                             {"output_type", ElementType::int64}},
                            std::move(type));
  if (takes_last) place = binary(call, "SUB", call.scalar(ElementType::int64, static_cast<double>(*size - 1)), place);
  if (!keeps_axes(call)) return call.result(place);
  call.result(call.emit("EXPAND_DIMS", {{"x", place}, {"axis", numbers(call, {axis})}}, call.output_type()));
}
void map_arg_max(WriteCall& call) { place_of_extreme(call, "ARG_MAX"); }
void map_arg_min(WriteCall& call) { place_of_extreme(call, "ARG_MIN"); }

void map_cumsum(WriteCall& call) {
  const auto axis = call.known_integers(1);
  if (axis && axis->size() != 1) return call.refuse("its axis is not one number");
  const ValueId place =
      axis ? call.scalar(ElementType::int32, static_cast<double>(WriteCall::from_start(*axis, call.rank(0)).front()))
           : reshape(call, cast(call, call.input(1), ElementType::int32), Shape());
  call.result(call.emit("CUMSUM",
                        {{"x", call.input(0)},
                         {"axis", place},
                         {"exclusive", call.integer("exclusive", 0) != 0},
                         {"reverse", call.integer("reverse", 0) != 0}},
                        call.output_type()));
}

/// Of the last axis, the greatest first.
void map_top_k(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", -1, rank);
  const bool is_smallest = call.integer("largest", 1) == 0;
  const bool is_integer_order = is_smallest && call.elem(0) != ElementType::float32;
  if (is_integer_order && call.elem(0) != ElementType::int32 && call.elem(0) != ElementType::int64)
    return call.refuse("it takes the smallest of integers that no kernel turns round");
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (rank == 0) return;
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  ValueId x = transpose(call, call.input(0), order);
  // -1 - x turns the order of integers round, the least of them too.
  const auto turned = [&](ValueId value) {
    return is_integer_order ? binary(call, "SUB", call.scalar(call.elem(0), -1), value) : unary(call, "NEG", value);
  };
  if (is_smallest) x = turned(x);
  ValueId k = cast(call, call.input(1), ElementType::int32);
  k = reshape(call, k, Shape());
  Type values = call.output_type(0), places = with_elem(call.output_type(1), ElementType::int32);
  for (Type* type : {&values, &places})
    if (type->shape && type->shape->size() == rank)
      std::swap((*type->shape)[static_cast<std::size_t>(axis)], type->shape->back());
  values.elem = call.elem(0);
  std::vector<ValueId> found = call.emit_many("TOPK_V2", {{"x", x}, {"k", k}}, {values, places});
  if (is_smallest) found[0] = turned(found[0]);
  found[1] = cast(call, found[1], ElementType::int64);
  call.results({transpose(call, found[0], order), transpose(call, found[1], order)});
}

}  // namespace

void register_reduce(Writers& writers);
void register_reduce(Writers& writers) {
  writers.add("ReduceMean", map_reduce_mean);
  writers.add("ReduceSum", map_reduce_sum);
  writers.add("ReduceMax", map_reduce_max);
  writers.add("ReduceMin", map_reduce_min);
  writers.add("ReduceProd", map_reduce_prod);
  writers.add("ReduceL1", map_reduce_l1);
  writers.add("ReduceL2", map_reduce_l2);
  writers.add("ReduceSumSquare", map_reduce_sum_square);
  writers.add("ReduceLogSum", map_reduce_log_sum);
  writers.add("ReduceLogSumExp", map_reduce_log_sum_exp);
  writers.add("ArgMax", map_arg_max);
  writers.add("ArgMin", map_arg_min);
  writers.add("CumSum", map_cumsum);
  writers.add("TopK", map_top_k);
}

}  // namespace onnxkit::to_tflite
