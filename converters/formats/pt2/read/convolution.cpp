// Convolutions.
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/spatial_axes.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

struct ConvolutionSizes {
  std::size_t spatial = 0;
  std::vector<std::int64_t> strides, dilations, paddings;
  std::int64_t groups = 1;
};

ConvolutionSizes sizes_of(Call& call, Val weight) {
  ConvolutionSizes sizes;
  const std::size_t rank = call.rank(weight);
  if (rank < 3) call.refuse("the weight has no spatial axes");
  sizes.spatial = rank < 3 ? 1 : rank - 2;
  sizes.strides = for_each_axis(call, "stride", sizes.spatial, 1);
  sizes.dilations = for_each_axis(call, "dilation", sizes.spatial, 1);
  sizes.groups = call.integer("groups", 1);
  return sizes;
}

std::vector<std::int64_t> both_ends(std::vector<std::int64_t> pads) {
  const std::size_t count = pads.size();
  for (std::size_t i = 0; i < count; ++i) pads.push_back(pads[i]);
  return pads;
}

/// Without a batch, PyTorch's input has an axis less than its weight.
struct Batched {
  Val x;
  bool was_added = false;
};

Batched batched(Call& call, Val x, std::size_t rank) {
  if (call.rank(x) + 1 != rank) return {x, false};
  return {call.onnx.unsqueeze(x, {0}), true};
}

void give(Call& call, Val result, const Batched& input) {
  call.result(input.was_added ? call.onnx.squeeze(result, {0}) : result);
}

void convolve(Call& call, std::vector<ir::Attr> padding) {
  auto& onnx = call.onnx;
  const Val weight = call.tensor("weight");
  const ConvolutionSizes sizes = sizes_of(call, weight);
  const Batched input = batched(call, call.tensor("input"), sizes.spatial + 2);
  std::vector<ir::Attr> attributes = {
      {"strides", sizes.strides}, {"dilations", sizes.dilations}, {"group", sizes.groups}};
  attributes.insert(attributes.end(), padding.begin(), padding.end());
  std::vector<Val> inputs = {input.x, weight};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  give(call, onnx.emit("Conv", inputs, attributes), input);
}

void map_conv(Call& call) {
  const ConvolutionSizes sizes = sizes_of(call, call.tensor("weight"));
  convolve(call, {{"pads", both_ends(for_each_axis(call, "padding", sizes.spatial, 0))}});
}

/// Padding by name: "same" puts what is left over behind.
void map_named_padding(Call& call) {
  auto& onnx = call.onnx;
  const std::string_view padding = call.text("padding", "valid");
  const Val weight = call.tensor("weight");
  const ConvolutionSizes sizes = sizes_of(call, weight);
  std::vector<std::int64_t> begin(sizes.spatial, 0), end(sizes.spatial, 0);
  for (std::size_t i = 0; padding == "same" && i < sizes.spatial; ++i) {
    const auto kernel = onnx.size(weight, i + 2);
    if (!kernel) return call.refuse("the size of the kernel is not known");
    const auto total = checked_mul(sizes.dilations[i], *kernel - 1);
    if (!total || *total < 0) return call.refuse("the dilation is out of range");
    begin[i] = *total / 2;
    end[i] = *total - begin[i];
  }
  begin.insert(begin.end(), end.begin(), end.end());
  convolve(call, {{"pads", begin}});
}

void transpose_convolve(Call& call) {
  auto& onnx = call.onnx;
  const Val weight = call.tensor("weight");
  const ConvolutionSizes sizes = sizes_of(call, weight);
  const Batched input = batched(call, call.tensor("input"), sizes.spatial + 2);
  std::vector<Val> inputs = {input.x, weight};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  const Val result = onnx.emit("ConvTranspose", inputs,
                               {{"strides", sizes.strides},
                                {"dilations", sizes.dilations},
                                {"group", sizes.groups},
                                {"pads", both_ends(for_each_axis(call, "padding", sizes.spatial, 0))},
                                {"output_padding", for_each_axis(call, "output_padding", sizes.spatial, 0)}});
  give(call, result, input);
}

/// The form that decompositions leave, which is both.
void map_convolution(Call& call) { call.flag("transposed", false) ? transpose_convolve(call) : map_conv(call); }

}  // namespace

void register_convolution(Mappings& mappings);
void register_convolution(Mappings& mappings) {
  mappings.add({"aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default"}, map_conv);
  mappings.add({"aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding"}, map_named_padding);
  mappings.add({"aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input"},
               transpose_convolve);
  mappings.add("aten.convolution.default", map_convolution);
}

}  // namespace onnxkit::pt2
