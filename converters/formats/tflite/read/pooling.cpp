// Pooling.
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

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
