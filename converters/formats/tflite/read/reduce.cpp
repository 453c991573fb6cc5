// Reductions over axes.
#include <algorithm>

#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

void reduce(Call& call, const char* op, Val x) {
  auto& onnx = call.onnx;
  const auto axes = onnx.constant_integers(call.tensor("axes"));
  if (!axes) return call.refuse("its axes are not constant");
  const std::int64_t keeps = call.flag("keep_dims", false) ? 1 : 0;
  if (axes->empty()) return give(call, x);
  give(call, onnx.emit(op, {x, onnx.integers(*axes)}, {{"keepdims", keeps}}));
}

bool is_over_images(Call& call) {
  auto axes = call.onnx.constant_integers(call.tensor("axes"));
  if (!axes || call.rank(call.tensor("x")) != 4) return false;
  for (std::int64_t& axis : *axes) axis += axis < 0 ? 4 : 0;
  std::sort(axes->begin(), axes->end());
  return *axes == std::vector<std::int64_t>{1, 2};
}

/// Runtimes compute a pooling of integers as the kernel does, with a sum of integers.
void map_mean(Call& call) {
  auto& onnx = call.onnx;
  if (!quantized_bytes(call, "x") || !is_over_images(call)) return reduce(call, "ReduceMean", real(call, "x"));
  const Val pooled = onnx.emit("GlobalAveragePool", {channels_first(onnx, real(call, "x"))});
  const Val integers = quantized(onnx, pooled, *quantization_of(call.declared_output()), call.declared_elem());
  give(call, call.flag("keep_dims", false) ? channels_last(onnx, integers) : onnx.squeeze(integers, {2, 3}));
}
void map_sum(Call& call) { reduce(call, "ReduceSum", real(call, "x")); }
void map_product(Call& call) { reduce(call, "ReduceProd", real(call, "x")); }
void map_maximum_of_axes(Call& call) { reduce(call, "ReduceMax", real(call, "x")); }
void map_minimum_of_axes(Call& call) { reduce(call, "ReduceMin", real(call, "x")); }

/// ONNX reduces booleans from opset 20 on.
void map_any(Call& call) {
  auto& onnx = call.onnx;
  reduce(call, "ReduceMax", onnx.cast(call.tensor("x"), ElementType::int32));
}
void map_all(Call& call) {
  auto& onnx = call.onnx;
  reduce(call, "ReduceMin", onnx.cast(call.tensor("x"), ElementType::int32));
}

void place_of_extreme(Call& call, const char* op) {
  const Val x = real(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  give(call, call.onnx.emit(op, {x}, {{"axis", axis}, {"keepdims", std::int64_t{0}}}));
}
void map_arg_max(Call& call) { place_of_extreme(call, "ArgMax"); }
void map_arg_min(Call& call) { place_of_extreme(call, "ArgMin"); }

void map_cumulative_sum(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::int64_t exclusive = call.flag("exclusive", false) ? 1 : 0, reverse = call.flag("reverse", false) ? 1 : 0;
  give(call, onnx.emit("CumSum", {x, onnx.scalar_integer(ElementType::int64, axis)},
                       {{"exclusive", exclusive}, {"reverse", reverse}}));
}

/// How many bounds each number reaches.
void map_bucketize(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<double> bounds = call.reals("boundaries");
  const Val x = onnx.cast(real(call, "x"), ElementType::float32);
  const Val known = onnx.reals(ElementType::float32, {static_cast<std::int64_t>(bounds.size())}, bounds);
  const Val reaches = onnx.emit("Not", {onnx.emit("Less", {onnx.unsqueeze(x, {-1}), known})});  // of a NaN all
  give(call, onnx.emit("ReduceSum", {onnx.cast(reaches, ElementType::int32), onnx.integers({-1})},
                       {{"keepdims", std::int64_t{0}}}));
}

void map_top_k(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  give(call, onnx.emit_many(2, "TopK", {x, as_sizes(call, "k")}));
}

}  // namespace

void register_reduce(Mappings& mappings);
void register_reduce(Mappings& mappings) {
  mappings.add("MEAN", {"x", "axes"}, map_mean);
  mappings.add("SUM", {"x", "axes"}, map_sum);
  mappings.add("REDUCE_PROD", {"x", "axes"}, map_product);
  mappings.add("REDUCE_MAX", {"x", "axes"}, map_maximum_of_axes);
  mappings.add("REDUCE_MIN", {"x", "axes"}, map_minimum_of_axes);
  mappings.add("REDUCE_ANY", {"x", "axes"}, map_any);
  mappings.add("REDUCE_ALL", {"x", "axes"}, map_all);
  mappings.add("ARG_MAX", {"x", "axis"}, map_arg_max);
  mappings.add("ARG_MIN", {"x", "axis"}, map_arg_min);
  mappings.add("CUMSUM", {"x", "axis"}, map_cumulative_sum);
  mappings.add("BUCKETIZE", {"x"}, map_bucketize);
  mappings.add("TOPK_V2", {"x", "k"}, map_top_k);
}

}  // namespace onnxkit::tflite
