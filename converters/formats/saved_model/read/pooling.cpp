// Pooling.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void pool(Call& call, const char* op, Val x, std::size_t axes) {
  auto& onnx = call.onnx;
  if (call.rank(x) != axes + 2) return call.refuse("its input does not have as many axes");
  const Window window{spatial_numbers(call, "ksize", axes), spatial_numbers(call, "strides", axes),
                      std::vector<std::int64_t>(axes, 1)};
  const std::vector<ir::Attr> attributes = window_attributes(call, x, window);
  if (call.refused()) return;
  give_space(call, onnx.emit(op, {to_channels_first(call, x)}, attributes));
}

void map_max_pool(Call& call) { pool(call, "MaxPool", call.tensor("input"), call.node.op == "MaxPool" ? 2 : 3); }
void map_average_pool(Call& call) {
  pool(call, "AveragePool", call.tensor("value"), call.node.op == "AvgPool" ? 2 : 3);
}

}  // namespace

void register_pooling(Mappings& mappings);
void register_pooling(Mappings& mappings) {
  mappings.add_all({"MaxPool", "MaxPool3D"}, {"input"}, map_max_pool);
  mappings.add_all({"AvgPool", "AvgPool3D"}, {"value"}, map_average_pool);
}

}  // namespace onnxkit::saved_model
