// Windows of images as columns (Unfold), and images from the sums of columns (Fold).
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/spatial_axes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

struct Blocks {
  std::vector<std::int64_t> kernel, dilations, pads, strides;
};

Blocks blocks_of(Call& call) {
  return {for_each_axis(call, "kernel_size", 2, 1), for_each_axis(call, "dilation", 2, 1),
          for_each_axis(call, "padding", 2, 0), for_each_axis(call, "stride", 2, 1)};
}

/// Where along an axis each element of the windows lies: [kernel, windows].
Val places_of_blocks(Call& call, Val padded, std::int64_t axis, std::int64_t kernel, std::int64_t dilation,
                     std::int64_t stride) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < kernel; ++i) inside.push_back(i * dilation);
  const Val starts_end = onnx.emit("Sub", {onnx.size_of(padded, axis), onnx.integers({dilation * (kernel - 1)})});
  const Val starts = onnx.emit("Range", {onnx.scalar_integer(ElementType::int64, 0), onnx.squeeze(starts_end, {0}),
                                         onnx.scalar_integer(ElementType::int64, stride)});
  return onnx.emit("Add", {onnx.unsqueeze(onnx.integers(inside), {1}), starts});
}

void map_image_to_columns(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const Blocks blocks = blocks_of(call);
  if (call.refused()) return;
  if (rank == 3) x = onnx.unsqueeze(x, {0});
  const std::int64_t h = blocks.pads[0], w = blocks.pads[1];
  if (h != 0 || w != 0) x = onnx.emit("Pad", {x, onnx.integers({0, 0, h, w, 0, 0, h, w})});
  const Val rows = places_of_blocks(call, x, 2, blocks.kernel[0], blocks.dilations[0], blocks.strides[0]);
  const Val columns = places_of_blocks(call, x, 3, blocks.kernel[1], blocks.dilations[1], blocks.strides[1]);
  const Val of_rows = onnx.emit("Gather", {x, rows}, {{"axis", std::int64_t{2}}});
  const Val windows = onnx.emit("Gather", {of_rows, columns}, {{"axis", std::int64_t{4}}});
  // [batch, channels, kernel, rows, kernel, columns] to [batch, channels * kernels, rows * columns]
  const Val kernel_size = onnx.integers({blocks.kernel[0] * blocks.kernel[1]});
  const auto channels = onnx.size(x, 1);
  const Val height = channels ? onnx.integers({*channels * blocks.kernel[0] * blocks.kernel[1]})
                              : onnx.emit("Mul", {onnx.size_of(x, 1), kernel_size});
  const Val sizes = onnx.joined({onnx.size_of(x, 0), height, onnx.integers({-1})});
  const Val result = onnx.emit("Reshape", {onnx.transpose(windows, {0, 1, 2, 4, 3, 5}), sizes});
  call.result(rank == 3 ? onnx.squeeze(result, {0}) : result);
}

/// Windows of one axis: where each begins stays on that axis, its elements are a last one.
void map_windows_of_axis(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dimension", 0, rank), size = call.integer("size", 1),
                     step = call.integer("step", 1);
  constexpr std::int64_t longest = 1 << 24;
  if (size < 0 || size > longest || step < 1) return call.refuse("the windows have no size or do not go on");
  if (rank == 0) x = onnx.unsqueeze(x, {0});
  const Val windows = onnx.emit("Gather", {x, places_of_blocks(call, x, axis, size, 1, step)}, {{"axis", axis}});
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(rank); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  call.result(rank == 0 ? onnx.squeeze(windows, {1}) : onnx.transpose(windows, order));
}

void map_columns_to_image(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const Blocks blocks = blocks_of(call);
  if (call.refused() || !call.has_opset(18)) return;
  if (rank == 2) x = onnx.unsqueeze(x, {0});
  std::vector<std::int64_t> pads = blocks.pads;
  pads.insert(pads.end(), blocks.pads.begin(), blocks.pads.end());
  const Val result = onnx.emit("Col2Im", {x, call.sizes("output_size"), onnx.integers(blocks.kernel)},
                               {{"dilations", blocks.dilations}, {"pads", pads}, {"strides", blocks.strides}});
  call.result(rank == 2 ? onnx.squeeze(result, {0}) : result);
}

}  // namespace

void register_columns(Mappings& mappings);
void register_columns(Mappings& mappings) {
  mappings.add("aten.im2col.default", map_image_to_columns);
  mappings.add({"aten.unfold.default", "aten.unfold_copy.default"}, map_windows_of_axis);
  mappings.add_by_part({"aten.unfold.default", "aten.unfold_copy.default"});
  mappings.add("aten.col2im.default", map_columns_to_image);
}

}  // namespace onnxkit::pt2
