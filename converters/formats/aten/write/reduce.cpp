// Reductions, and running sums.
#include <algorithm>
#include <limits>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/run_time_axes.h"

namespace onnxkit::aten {
namespace {

struct Reduction {
  Ints axes;
  bool keeps = true;
  bool is_identity = false;  ///< no axes, which here means none
};

/// Axes that an input has, of which there is at least one.
bool are_given_at_run_time(WriteCall& call) { return call.has(1) && !call.known_integers(1) && call.size(1, 0) != 0; }

/// `along` reduces one axis and keeps it with size 1. Its results in turn give that of all axes.
template <class Along>
ValueId reduce_at_run_time(WriteCall& call, ValueId x, Along along) {
  const std::size_t rank = call.rank(0);
  if (call.refused()) return x;
  const Shape sizes = *call.shape(0);
  if (std::find(sizes.begin(), sizes.end(), Dim(0)) != sizes.end())
    call.refuse("the axes of an input without elements are computed while the model runs", "make them constant");
  const RunTimeAxes axes = run_time_axes(call, 1, rank);
  if (call.refused()) return x;
  const Type type = call.type_of(x);
  for (std::size_t i = 0; i < rank; ++i) x = where(call, axes.hits[i], along(x, static_cast<Int>(i)), x, type);
  for (std::size_t i = 0; i < rank; ++i) {  // of an axis that is reduced all places are equal
    const ValueId end = where(call, axes.hits[i], call.integer_scalar(1), full(call, {}, sizes[i], ElementType::int64),
                              Type::tensor(ElementType::int64, {}));
    Type shorter = call.type_of(x);
    (*shorter.shape)[i] = Dim();
    x = call.emit("aten.slice.Tensor",
                  {{"self", x}, {"dim", static_cast<Int>(i)}, {"start", Int{0}}, {"end", item(call, end, Dim())}},
                  shorter);
  }
  if (call.integer("keepdims", 1) != 0) return x;
  return call.emit("aten.reshape.default", {{"self", x}, {"shape", sizes_without(call, axes, sizes)}},
                   with_elem(call.output_type(), type.elem));
}

/// The same with an operator that has the arguments self, dim and keepdim.
ValueId operate_at_run_time(WriteCall& call, ValueId x, std::string_view op, ElementType sum_elem = {}) {
  return reduce_at_run_time(call, x, [&](ValueId y, Int axis) { return reduce(call, op, y, {axis}, true, sum_elem); });
}

Reduction reduction_of(WriteCall& call) {
  Reduction reduction{.axes = {}, .keeps = call.integer("keepdims", 1) != 0};
  const std::size_t rank = call.rank(0);
  if (call.has(1) && call.size(1, 0) != 0) {
    if (!call.known_integers(1)) call.refuse("the axes are computed while the model runs", "make them constant");
    reduction.axes = WriteCall::from_start(call.known_integers(1).value_or(Ints()), rank);
  }
  if (!reduction.axes.empty()) return reduction;
  reduction.is_identity = call.integer("noop_with_empty_axes", 0) != 0;
  for (std::size_t i = 0; i < rank && !reduction.is_identity; ++i) reduction.axes.push_back(static_cast<Int>(i));
  return reduction;
}

bool reduces_nothing(WriteCall& call, const Reduction& reduction) {
  return std::any_of(reduction.axes.begin(), reduction.axes.end(),
                     [&](Int axis) { return call.size(0, static_cast<std::size_t>(axis)) == 0; });
}

ValueId summed(WriteCall& call, ValueId x, const Reduction& reduction) {
  if (reduction.is_identity) return x;
  return reduce(call, "aten.sum.dim_IntList", x, reduction.axes, reduction.keeps, call.type_of(x).elem);
}

/// Sums of what `before` makes of the elements; `after` is applied to them.
void sum_of(WriteCall& call, std::string_view before, std::string_view after) {
  if (!has_arithmetic(call, call.elem(0))) return;
  ValueId x = call.input(0);
  if (before == "square")
    x = binary(call, "aten.mul.Tensor", x, x, call.type(0));
  else if (!before.empty())
    x = unary(call, before, x);
  const ElementType elem = call.elem(0);
  x = are_given_at_run_time(call) ? operate_at_run_time(call, x, "aten.sum.dim_IntList", elem)
                                  : summed(call, x, reduction_of(call));
  if (!after.empty()) x = cast(call, call.emit(after, {{"self", x}}, call.output_type()), elem);
  if (x == call.input(0)) x = unary(call, "aten.clone.default", x);
  call.result(x);
}
void map_reduce_sum(WriteCall& call) { sum_of(call, "", ""); }
void map_reduce_l1(WriteCall& call) { sum_of(call, "aten.abs.default", ""); }
void map_reduce_l2(WriteCall& call) { sum_of(call, "square", "aten.sqrt.default"); }
void map_reduce_sum_square(WriteCall& call) { sum_of(call, "square", ""); }
void map_reduce_log_sum(WriteCall& call) { sum_of(call, "", "aten.log.default"); }

void map_reduce_mean(WriteCall& call) {
  const ElementType elem = call.elem(0);
  if (are_given_at_run_time(call) && is_floating(elem))
    return call.result(operate_at_run_time(call, call.input(0), "aten.mean.dim"));
  const Reduction reduction = reduction_of(call);
  if (call.refused()) return;
  if (reduction.is_identity) return call.result(unary(call, "aten.clone.default", call.input(0)));
  if (is_floating(elem))
    return call.result(reduce(call, "aten.mean.dim", call.input(0), reduction.axes, reduction.keeps));
  Dim count = 1;
  for (const Int axis : reduction.axes)
    count = call.dims().mul(count, (*call.shape(0))[static_cast<std::size_t>(axis)]);
  if (!count.is_constant()) return call.refuse("a mean of integers over an axis of unknown size");
  const ValueId sum = summed(call, call.input(0), reduction);
  call.result(call.emit(
      "aten.div.Tensor_mode",
      {{"self", sum}, {"other", call.scalar(elem, static_cast<double>(count.constant()))}, {"rounding_mode", "trunc"}},
      call.output_type()));
}

/// The extreme of nothing is the least value of the type, or the greatest.
void extreme(WriteCall& call, std::string_view op, bool is_max) {
  if (are_given_at_run_time(call)) return call.result(operate_at_run_time(call, call.input(0), op));
  const Reduction reduction = reduction_of(call);
  if (reduction.is_identity) return call.result(unary(call, "aten.clone.default", call.input(0)));
  if (!reduces_nothing(call, reduction))
    return call.result(reduce(call, op, call.input(0), reduction.axes, reduction.keeps));
  if (!is_floating(call.elem(0)) || !call.output_type().shape) return call.refuse("the extreme of no integers");
  const double infinity = std::numeric_limits<double>::infinity();
  call.result(full(call, *call.output_type().shape, is_max ? -infinity : infinity, call.elem(0)));
}
void map_reduce_max(WriteCall& call) { extreme(call, "aten.amax.default", true); }
void map_reduce_min(WriteCall& call) { extreme(call, "aten.amin.default", false); }

void map_reduce_prod(WriteCall& call) {
  if (are_given_at_run_time(call))
    return call.result(reduce_at_run_time(call, call.input(0), [&](ValueId y, Int axis) {
      return call.emit("aten.prod.dim_int", {{"self", y}, {"dim", axis}, {"keepdim", true}, {"dtype", call.elem(0)}},
                       call.type_of(y));
    }));
  const Reduction reduction = reduction_of(call);
  Ints axes = reduction.axes;
  std::sort(axes.begin(), axes.end());
  ValueId x = call.input(0);
  for (std::size_t i = axes.size(); i-- > 0;)
    x = call.emit("aten.prod.dim_int",
                  {{"self", x}, {"dim", axes[i]}, {"keepdim", reduction.keeps}, {"dtype", call.elem(0)}},
                  i == 0 ? call.output_type() : Type::tensor(call.elem(0)));
  if (axes.empty()) x = unary(call, "aten.clone.default", x);
  call.result(x);
}

void map_reduce_log_sum_exp(WriteCall& call) {
  if (are_given_at_run_time(call) && is_floating(call.elem(0)))
    return call.result(operate_at_run_time(call, call.input(0), "aten.logsumexp.default"));
  const Reduction reduction = reduction_of(call);
  if (!is_floating(call.elem(0))) return call.refuse("a logarithm of integers");
  if (reduction.is_identity) return call.result(unary(call, "aten.clone.default", call.input(0)));
  call.result(reduce(call, "aten.logsumexp.default", call.input(0), reduction.axes, reduction.keeps));
}

void arg_extreme(WriteCall& call, std::string_view op) {
  const Int axis = call.axis("axis", 0, call.rank(0));
  if (call.refused()) return;
  const bool takes_last = call.integer("select_last_index", 0) != 0;
  const ValueId x = takes_last ? flip(call, call.input(0), axis) : call.input(0);
  const ValueId place =
      call.emit(op, {{"self", x}, {"dim", axis}, {"keepdim", call.integer("keepdims", 1) != 0}}, call.output_type());
  if (!takes_last) return call.result(place);
  Given last{"other", Int{0}};
  const Dim size = call.dims().add((*call.shape(0))[static_cast<std::size_t>(axis)], -1);
  std::visit([&](auto value) { last.value = value; }, size_argument(call, size));
  call.result(call.emit("aten.rsub.Scalar", {{"self", place}, last}, call.output_type()));
}
void map_arg_max(WriteCall& call) { arg_extreme(call, "aten.argmax.default"); }
void map_arg_min(WriteCall& call) { arg_extreme(call, "aten.argmin.default"); }

/// Without its own element each: the sums up to the last but one, behind a zero (a one for products).
ValueId without_own(WriteCall& call, ValueId x, Int axis, double neutral) {
  const Type type = call.type_of(x);
  const ValueId before = slice(call, x, axis, 0, -1);
  Ints pad;
  for (std::size_t i = type.shape->size(); i-- > static_cast<std::size_t>(axis);) {
    pad.push_back(i == static_cast<std::size_t>(axis) ? 1 : 0);
    pad.push_back(0);
  }
  return call.emit("aten.constant_pad_nd.default",
                   {{"self", before}, {"pad", pad}, number("value", type.elem, neutral)}, type);
}

ValueId run_along(WriteCall& call, std::string_view op, double neutral, Int axis) {
  const bool is_reverse = call.integer("reverse", 0) != 0;
  ValueId x = call.input(0);
  if (is_reverse) x = flip(call, x, axis);
  x = call.emit(op, {{"self", x}, {"dim", axis}, {"dtype", call.elem(0)}}, call.output_type());
  if (call.integer("exclusive", 0) != 0) x = without_own(call, x, axis, neutral);
  return is_reverse ? flip(call, x, axis) : x;
}

void running(WriteCall& call, std::string_view op, double neutral) {
  const auto asked = call.known_integers(1);
  const std::size_t rank = call.rank(0);
  if (call.refused()) return;
  if (asked && asked->size() == 1)
    return call.result(run_along(call, op, neutral, WriteCall::from_start(*asked, rank).front()));
  const RunTimeAxes axes = run_time_axes(call, 1, rank);
  if (call.refused()) return;
  ValueId x = rank == 0 ? call.input(0) : run_along(call, op, neutral, 0);
  for (std::size_t i = 1; i < rank; ++i)
    x = where(call, axes.hits[i], run_along(call, op, neutral, static_cast<Int>(i)), x, call.output_type());
  call.result(x);
}
void map_cum_sum(WriteCall& call) { running(call, "aten.cumsum.default", 0); }
void map_cum_prod(WriteCall& call) { running(call, "aten.cumprod.default", 1); }

/// Of equal elements ONNX takes those in front, which topk of PyTorch does not promise.
void map_top_k(WriteCall& call) {
  const Int axis = call.axis("axis", -1, call.rank(0));
  const std::vector<ValueId> sorted = call.emit_many(
      "aten.sort.stable",
      {{"self", call.input(0)}, {"stable", true}, {"dim", axis}, {"descending", call.integer("largest", 1) != 0}},
      {call.type(0), with_elem(call.type(0), ElementType::int64)});
  Given end{"end", Int{0}};
  std::visit([&](auto value) { end.value = value; }, integer_argument(call, 1));
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < 2; ++i)
    results.push_back(call.emit("aten.slice.Tensor", {{"self", sorted[i]}, {"dim", axis}, {"start", Int{0}}, end},
                                call.output_type(i)));
  call.results(results);
}

}  // namespace

void register_reduce(Writers& writers);
void register_reduce(Writers& writers) {
  writers.add("ReduceSum", map_reduce_sum);
  writers.add("ReduceL1", map_reduce_l1);
  writers.add("ReduceL2", map_reduce_l2);
  writers.add("ReduceSumSquare", map_reduce_sum_square);
  writers.add("ReduceLogSum", map_reduce_log_sum);
  writers.add("ReduceLogSumExp", map_reduce_log_sum_exp);
  writers.add("ReduceMean", map_reduce_mean);
  writers.add("ReduceMax", map_reduce_max);
  writers.add("ReduceMin", map_reduce_min);
  writers.add("ReduceProd", map_reduce_prod);
  writers.add("ArgMax", map_arg_max);
  writers.add("ArgMin", map_arg_min);
  writers.add("CumSum", map_cum_sum);
  writers.add("CumProd", map_cum_prod);
  writers.add("TopK", map_top_k);
}

}  // namespace onnxkit::aten
