// Products of matrices.
#include "converters/foreign/slices.h"
#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

/// Rows of a matrix as pixels of an image: the product is a convolution with windows of one pixel, which needs no other layout than those
/// around it.
Val convolved_rows(Call& call, Val x, Val filter) {
  auto& onnx = call.onnx;
  std::vector<Val> inputs = {channels_first(onnx, x), filter};
  if (call.has("bias")) inputs.push_back(real(call, "bias"));
  return onnx.emit("Conv", inputs, {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
}

void map_fully_connected(Call& call) {
  auto& onnx = call.onnx;
  Val x = real(call, "input");
  if (call.integer("weights_format", 0) != 0) return call.refuse("its weights are shuffled");
  const std::size_t rank = call.rank(x);
  const bool keeps_axes = call.flag("keep_num_dims", false) && rank != 2;
  if (keeps_axes && rank == 4)
    return give_channels_first(call, convolved_rows(call, x, weights(call, "weights", {0, 1}, 2)));
  if (keeps_axes) {
    Val product = onnx.emit("MatMul", {x, weights(call, "weights", {1, 0})});
    if (call.has("bias")) product = onnx.emit("Add", {product, real(call, "bias")});
    return give_activated(call, product);
  }
  const Val matrix = weights(call, "weights", {0, 1});
  const auto width = onnx.size(matrix, 1);
  if (!width) return call.refuse("the shape of its weights is not known");
  if (rank != 2 || onnx.size(x, 1) != width) x = onnx.reshape(x, {-1, *width});
  std::vector<Val> inputs = {x, matrix};
  if (call.has("bias")) inputs.push_back(real(call, "bias"));
  give_activated(call, onnx.emit("Gemm", inputs, {{"transB", std::int64_t{1}}}));
}

void map_batch_matmul(Call& call) {
  Val x = real(call, "x"), y = real(call, "y");
  if (call.flag("adj_x", false)) x = foreign::with_last_axes_swapped(call, x);
  if (call.flag("adj_y", false)) y = foreign::with_last_axes_swapped(call, y);
  Val product = call.onnx.emit("MatMul", {x, y});
  if (const Quantization* left = quantized_bytes(call, "x"), *right = quantized_bytes(call, "y"); left && right)
    product = rounded_twice(call, product, *left, *right);
  give(call, product);
}

}  // namespace

void register_matmul(Mappings& mappings);
void register_matmul(Mappings& mappings) {
  mappings.add("FULLY_CONNECTED", {"input", "weights", "bias"}, map_fully_connected);
  mappings.add("BATCH_MATMUL", {"x", "y"}, map_batch_matmul);
}

}  // namespace onnxkit::tflite
