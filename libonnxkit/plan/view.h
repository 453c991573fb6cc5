#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnxkit/element_type.h"

namespace onnxkit::plan {

using Dims = std::vector<std::int64_t>;

/// Thrown where a view is asked for that lies beyond its elements, or a buffer that is too large: inference and a lowering disagree. Lowerer catches
/// it, and the node stays on the reference.
struct Misfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Product of the sizes. Throws Misfit where int64 does not hold it.
std::int64_t element_count(std::span<const std::int64_t> dims);
/// Strides in elements of a tensor that lies in row-major order.
Dims row_major_strides(std::span<const std::int64_t> dims);

/// Elements of a buffer, seen as a tensor: element (i, j, ...) lies at offset + i * strides[0] + j * strides[1] + ... Transposes, slices, reshapes
/// and broadcasts (stride 0) are views, so they take no step; a convolution that computes with channels last writes a view whose strides say so.
struct View {
  std::uint32_t buffer = 0;
  ElementType type = ElementType::undefined;  ///< as the elements are stored
  std::int64_t offset = 0;                    ///< in elements
  Dims dims = {}, strides = {};               ///< in elements

  std::size_t rank() const { return dims.size(); }
  std::int64_t size() const { return element_count(dims); }
  /// In row-major order without gaps. Axes of one element may have any stride.
  bool is_contiguous() const;
  /// Without gaps and repetitions, in some order of axes.
  bool is_dense() const;

  /// An image [n, c, h, w] with channels side by side and pixels evenly apart, row by row and image by image.
  bool has_channels_last() const;
  /// The same, but that rows and images may lie further apart, or have other rows between them.
  bool has_channels_side_by_side() const;

  bool operator==(const View&) const = default;
};

/// `order`: every axis once.
View permuted(const View& view, std::span<const std::int64_t> order);
/// The order of axes that undoes another.
Dims inverse_order(std::span<const std::int64_t> order);
/// Axes by their strides, the widest first, so that those side by side in memory are innermost.
Dims order_in_memory(const View& view);
/// The order of axes that moves one behind all others.
Dims order_with_last(std::size_t rank, std::size_t axis);
/// Steps may be negative. Throws Misfit where the range is not within the axis.
View sliced(const View& view, std::size_t axis, std::int64_t start, std::int64_t step, std::int64_t count);
/// An axis of one element goes.
View without_axis(View view, std::size_t axis);
/// The elements at one index of an axis, which goes. Throws Misfit as sliced does.
View picked(const View& view, std::size_t axis, std::int64_t index);
/// The same elements in row-major order under other sizes; nothing when no strides say that, or their numbers differ.
std::optional<View> try_reshaped(const View& view, Dims dims);
/// The same; throws Misfit for nothing.
View reshaped(const View& view, Dims dims);
/// By the rules of ONNX: axes are added in front, axes of one element repeat. Throws Misfit where the sizes do not fit.
View broadcast_to(const View& view, std::span<const std::int64_t> dims);
/// With one element along each axis along which it repeats.
View without_repetition(View view);
/// Strides of a tensor of these sizes without gaps whose axes lie in the order of those of `like`, which has the same rank.
Dims dense_strides_like(std::span<const std::int64_t> dims, const View& like);

/// How far apart the rows of a view are, the last axis being side by side; nothing when they are not evenly apart. That of a single row is its size.
std::optional<std::int64_t> row_stride_of(const View& view);

/// Axes that all views run through in the same way are joined, axes of one element dropped; the order of axes is that of the first view, outermost
/// first. All views have the same sizes.
struct Loops {
  Dims sizes;
  std::vector<Dims> strides;  ///< by view
};
Loops joined_loops(std::span<const View* const> views);

/// "float32[2, 3]", with strides where they are not row-major: "float32[2, 3; 1, 2]".
std::string text_of(const View& view);

}  // namespace onnxkit::plan
