// Reductions.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

struct Reduction {
  Val x, axes;
  std::vector<std::int64_t> axis_list;
  std::int64_t keeps = 0;
};

Reduction reduction_of(Call& call) {
  Reduction r;
  r.x = call.tensor("self");
  if (const ElementType wanted = call.elem("dtype"); wanted != ElementType::undefined)
    r.x = call.onnx.cast(r.x, wanted);
  r.axis_list = call.axes("dim", call.rank(r.x));
  r.axes = call.onnx.integers(r.axis_list);
  r.keeps = call.flag("keepdim", false) ? 1 : 0;
  return r;
}

Val reduced(Call& call, std::string_view op, const Reduction& r) {
  if (r.axis_list.empty() || call.rank(r.x) == 0) return r.x;
  return call.onnx.emit(op, {r.x, r.axes}, {{"keepdims", r.keeps}});
}

/// ReduceProd, ReduceMax and ReduceMin have their axes as an input since opset 18.
void map_sum(Call& call) {
  Reduction r = reduction_of(call);
  const ElementType type = call.onnx.elem(r.x);
  // Sums of integers and booleans are int64.
  if (!call.has("dtype") && !is_floating(type)) r.x = call.onnx.cast(r.x, ElementType::int64);
  call.result(reduced(call, "ReduceSum", r));
}

/// Sums along the axes that a smaller shape has not, or has with one element: what broadcasting would repeat.
void map_sum_to_size(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const std::vector<std::int64_t> wanted = call.integers("size");
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  const std::int64_t more = rank - static_cast<std::int64_t>(wanted.size());
  if (more < 0) return call.refuse("the sum has no more axes than the tensor");
  std::vector<std::int64_t> axes, dropped;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const bool shrinks = axis >= more && wanted[static_cast<std::size_t>(axis - more)] == 1;
    if (axis < more || (shrinks && onnx.size(x, static_cast<std::size_t>(axis)) != 1)) axes.push_back(axis);
    if (axis < more) dropped.push_back(axis);
  }
  if (axes.empty()) return call.result(x);
  if (!is_floating(type)) x = onnx.cast(x, ElementType::int64);
  const Val sum = onnx.emit("ReduceSum", {x, onnx.integers(axes)}, {{"keepdims", std::int64_t{1}}});
  call.result(dropped.empty() ? sum : onnx.squeeze(sum, dropped));
}

void map_mean(Call& call) { call.result(reduced(call, "ReduceMean", reduction_of(call))); }

void map_product(Call& call) {
  Reduction r = reduction_of(call);
  if (!call.has("dtype") && !is_floating(call.onnx.elem(r.x))) r.x = call.onnx.cast(r.x, ElementType::int64);
  call.result(reduced(call, "ReduceProd", r));
}

void map_amax(Call& call) { call.result(reduced(call, "ReduceMax", reduction_of(call))); }
void map_amin(Call& call) { call.result(reduced(call, "ReduceMin", reduction_of(call))); }

/// The extremum over an axis with its position.
template <bool is_maximum>
void map_extremum_with_index(Call& call) {
  const Reduction r = reduction_of(call);
  if (call.node.outputs.size() < 2) return call.result(reduced(call, is_maximum ? "ReduceMax" : "ReduceMin", r));
  if (call.rank(r.x) == 0) return call.results({r.x, call.onnx.scalar_integer(ElementType::int64, 0)});
  const Val at =
      call.onnx.emit(is_maximum ? "ArgMax" : "ArgMin", {r.x}, {{"axis", r.axis_list.front()}, {"keepdims", r.keeps}});
  call.results({reduced(call, is_maximum ? "ReduceMax" : "ReduceMin", r), at});
}

/// Without an axis the place is one among all elements.
template <bool is_maximum>
void map_arg(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::int64_t keeps = call.flag("keepdim", false) ? 1 : 0;
  const bool is_whole = !call.has("dim") || rank == 0;
  const std::int64_t axis = is_whole ? 0 : call.axis("dim", 0, rank);
  if (is_whole) x = onnx.reshape(x, {-1});
  const Val at = onnx.emit(is_maximum ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", is_whole ? 0 : keeps}});
  const bool keeps_all = is_whole && keeps == 1 && rank > 0;
  call.result(keeps_all ? onnx.reshape(at, std::vector<std::int64_t>(rank, 1)) : at);
}

/// Whether any, or all, are not zero.
template <bool is_any>
void map_quantifier(Call& call) {
  auto& onnx = call.onnx;
  Reduction r = reduction_of(call);
  // An empty list names no axes here, where other reductions take all of them.
  if (call.has("dim") && call.integers("dim").empty()) return call.result(onnx.cast(r.x, ElementType::boolean));
  r.x = onnx.cast(onnx.cast(r.x, ElementType::boolean), ElementType::int32);
  call.result(onnx.cast(reduced(call, is_any ? "ReduceMax" : "ReduceMin", r), ElementType::boolean));
}

/// The mean square distance from the mean; `correction` counts fewer elements.
struct Spread {
  Val variance, mean;
};

Spread spread_of(Call& call) {
  auto& onnx = call.onnx;
  Reduction r = reduction_of(call);
  const ElementType type = onnx.elem(r.x);
  const Reduction kept{r.x, r.axes, r.axis_list, 1};
  const Val mean = reduced(call, "ReduceMean", kept);
  const Val difference = onnx.emit("Sub", {r.x, mean});
  const Reduction squares{onnx.emit("Mul", {difference, difference}), r.axes, r.axis_list, r.keeps};
  double correction = call.real("correction", 1);
  if (call.has("unbiased")) correction = call.flag("unbiased", true) ? 1 : 0;
  Spread spread;
  if (correction == 0) {
    spread.variance = reduced(call, "ReduceMean", squares);
  } else {
    Val count = onnx.integers({1});
    for (const std::int64_t axis : r.axis_list) count = onnx.emit("Mul", {count, onnx.size_of(r.x, axis)});
    const Val divisor = onnx.emit("Sub", {onnx.cast(onnx.squeeze(count, {0}), type), onnx.scalar(type, correction)});
    spread.variance = onnx.emit("Div", {reduced(call, "ReduceSum", squares), divisor});
  }
  spread.mean = r.keeps == 1 ? mean : onnx.squeeze(mean, r.axis_list);
  return spread;
}

void map_variance(Call& call) { call.result(spread_of(call).variance); }
void map_deviation(Call& call) { call.result(call.onnx.emit("Sqrt", {spread_of(call).variance})); }

void map_variance_and_mean(Call& call) {
  const Spread spread = spread_of(call);
  call.results({spread.variance, spread.mean});
}

void map_log_sum_exp(Call& call) { call.result(reduced(call, "ReduceLogSumExp", reduction_of(call))); }

void map_deviation_and_mean(Call& call) {
  const Spread spread = spread_of(call);
  call.results({call.onnx.emit("Sqrt", {spread.variance}), spread.mean});
}

void map_count_nonzero(Call& call) {
  auto& onnx = call.onnx;
  Reduction r = reduction_of(call);
  r.x = onnx.cast(onnx.cast(r.x, ElementType::boolean), ElementType::int64);
  call.result(reduced(call, "ReduceSum", r));
}

void map_range_of_values(Call& call) {
  const Reduction r = reduction_of(call);
  call.results({reduced(call, "ReduceMin", r), reduced(call, "ReduceMax", r)});
}

/// Sums and means of what is a number.
template <bool is_mean>
void map_without_nan(Call& call) {
  auto& onnx = call.onnx;
  Reduction r = reduction_of(call);
  const ElementType type = onnx.elem(r.x);
  if (!is_floating(type)) return is_mean ? call.refuse("the mean of integers") : map_sum(call);
  const Val is_nan = onnx.emit("IsNaN", {r.x});
  const Reduction counted{onnx.cast(onnx.emit("Not", {is_nan}), type), r.axes, r.axis_list, r.keeps};
  r.x = onnx.emit("Where", {is_nan, onnx.scalar(type, 0), r.x});
  const Val sum = reduced(call, "ReduceSum", r);
  call.result(is_mean ? onnx.emit("Div", {sum, reduced(call, "ReduceSum", counted)}) : sum);
}

void map_cumulative_sum(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const ElementType wanted = call.elem("dtype");
  if (wanted != ElementType::undefined) x = onnx.cast(x, wanted);
  if (wanted == ElementType::undefined && !is_floating(onnx.elem(x))) x = onnx.cast(x, ElementType::int64);
  if (call.rank(x) == 0) return call.result(x);
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  call.result(onnx.emit("CumSum", {x, onnx.scalar_integer(ElementType::int64, axis)}));
}

}  // namespace

void register_reduce(Mappings& mappings);
void register_reduce(Mappings& mappings) {
  mappings.add({"aten.sum.default", "aten.sum.dim_IntList"}, map_sum);
  mappings.add("aten.sum_to_size.default", map_sum_to_size);
  mappings.add({"aten.mean.default", "aten.mean.dim"}, map_mean);
  mappings.add({"aten.prod.default", "aten.prod.dim_int"}, map_product);
  mappings.add("aten.amax.default", map_amax);
  mappings.add("aten.amin.default", map_amin);
  mappings.add({"aten.max.default", "aten.max.dim"}, map_extremum_with_index<true>);
  mappings.add({"aten.min.default", "aten.min.dim"}, map_extremum_with_index<false>);
  mappings.add("aten.argmax.default", map_arg<true>);
  mappings.add("aten.argmin.default", map_arg<false>);
  mappings.add({"aten.any.default", "aten.any.dim", "aten.any.dims", "aten._is_any_true.default"},
               map_quantifier<true>);
  mappings.add({"aten.all.default", "aten.all.dim", "aten.all.dims", "aten._is_all_true.default"},
               map_quantifier<false>);
  mappings.add({"aten.var.default", "aten.var.dim", "aten.var.correction"}, map_variance);
  mappings.add({"aten.std.default", "aten.std.dim", "aten.std.correction"}, map_deviation);
  mappings.add({"aten.var_mean.default", "aten.var_mean.dim", "aten.var_mean.correction"}, map_variance_and_mean);
  mappings.add({"aten.std_mean.default", "aten.std_mean.dim", "aten.std_mean.correction"}, map_deviation_and_mean);
  mappings.add({"aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"}, map_count_nonzero);
  mappings.add("aten.aminmax.default", map_range_of_values);
  mappings.add("aten.nansum.default", map_without_nan<false>);
  mappings.add("aten.nanmean.default", map_without_nan<true>);
  mappings.add("aten.logsumexp.default", map_log_sum_exp);
  mappings.add("aten.cumsum.default", map_cumulative_sum);
}

}  // namespace onnxkit::pt2
