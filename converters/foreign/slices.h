#pragma once

#include <vector>

#include "converters/foreign/call.h"

// Parts of values, and values made of parts, as NumPy and TensorFlow state them.
namespace onnxkit::foreign {

/// Sizes, axes or positions, as a vector of int64.
Val as_sizes(OnnxBuilder& onnx, Val value);

/// Bits by entry of begin, end and strides.
struct SliceMasks {
  std::int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
  bool ends_count_from_begin = false;
};
/// From begin_mask, end_mask and so on; `offset`: ends count from the begins.
SliceMasks slice_masks(Call& call);
Val strided_slice(Call& call, Val x, Val begin, Val end, Val strides, const SliceMasks& masks);
/// From a place on; a size of -1 reaches to the end.
Val slice_of_size(Call& call, Val x, Val begin, Val size);
/// With the elements from a place on replaced; a place from which the update would not fit is moved until it does.
Val updated_slice(Call& call, Val x, Val update, Val starts);
Val reversed(Call& call, Val x, const std::vector<std::int64_t>& axes);
/// Pads that repeat the border itself: what lies behind it reversed, axis by axis. `pairs` are before and after for each axis.
Val mirrored_with_border(Call& call, Val x, const std::vector<std::int64_t>& pairs);
/// Matrices transposed.
Val with_last_axes_swapped(Call& call, Val value);

/// Elements along an axis; the first axes of both count the batches.
Val gathered(Call& call, Val x, Val indices, std::int64_t axis, std::int64_t batches);
/// Pairs of before and after for each axis, in ONNX all befores first.
Val pads_of_pairs(OnnxBuilder& onnx, Val pairs);
/// Values side by side along a new axis, and back.
Val stacked(Call& call, std::vector<Val> values, std::int64_t axis);
std::vector<Val> unstacked(Call& call, Val value, std::int64_t axis, std::size_t count);
/// Values of an axis in equal parts.
std::vector<Val> split_equally(OnnxBuilder& onnx, Val value, std::int64_t axis, std::size_t count);

/// Each block of places becomes places in as many batches, and back. `pairs` are before and after for each blocked axis.
Val space_to_batch(Call& call, Val x, Val block_shape, Val pairs);
Val batch_to_space(Call& call, Val x, Val block_shape, Val pairs);

}  // namespace onnxkit::foreign
