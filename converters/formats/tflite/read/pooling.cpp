// Pooling.
#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

/// The mean of integers, whose halves the runtime rounds away from zero, wherever the zero point is: QuantizeLinear rounds them to even.
Val halves_away_from_zero(Call& call, Val mean, const Quantization& quantization) {
  auto& onnx = call.onnx;
  const double step = quantization.scales.front();
  const Val zero = onnx.scalar(ElementType::float32, step * static_cast<double>(quantization.zero_points.front()));
  const Val sign = onnx.emit("Sign", {onnx.emit("Add", {mean, zero})});
  return onnx.emit("Add", {mean, onnx.emit("Mul", {sign, onnx.scalar(ElementType::float32, step / 1024)})});
}

void pool(Call& call, const char* op, bool is_root_of_squares) {
  auto& onnx = call.onnx;
  const Val x = real(call, "input");
  if (call.rank(x) != 4) return call.refuse("its input does not have four axes");
  const Window window =
      window_of(call, {call.integer("filter_height", 0), call.integer("filter_width", 0)}, {"h", "w"});
  const std::vector<ir::Attr> attributes = window_attributes(call, x, window);
  if (call.refused()) return;
  Val pooled = channels_first(onnx, x);
  if (is_root_of_squares) pooled = onnx.emit("Mul", {pooled, pooled});
  pooled = onnx.emit(op, {pooled}, attributes);
  if (is_root_of_squares) pooled = onnx.emit("Sqrt", {pooled});
  const Quantization* from = quantized_bytes(call, "input");
  const bool has_halves = window.kernel[0] * window.kernel[1] % 2 == 0 || call.integer("padding", 0) == 0;
  if (from && has_halves && op == std::string_view("AveragePool")) pooled = halves_away_from_zero(call, pooled, *from);
  give_channels_first(call, pooled);
}

void map_average_pool(Call& call) { pool(call, "AveragePool", false); }
void map_max_pool(Call& call) { pool(call, "MaxPool", false); }
void map_l2_pool(Call& call) { pool(call, "AveragePool", true); }

}  // namespace

void register_pooling(Mappings& mappings);
void register_pooling(Mappings& mappings) {
  mappings.add("AVERAGE_POOL_2D", {"input"}, map_average_pool);
  mappings.add("MAX_POOL_2D", {"input"}, map_max_pool);
  mappings.add("L2_POOL_2D", {"input"}, map_l2_pool);
}

}  // namespace onnxkit::tflite
