#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "checker/infer/infer_context.h"

// What operators that move elements about (Gather, Slice, Reshape ...) do to small known contents, and how they read sizes, axes and
// the like out of their inputs.
namespace onnxkit::checker {

/// The sizes as constants; nullopt unless all are and none is negative.
std::optional<std::vector<std::int64_t>> constant_sizes(std::span<const Dim> shape);
std::optional<std::vector<std::int64_t>> constant_input_sizes(const InferContext& context, std::size_t input);
/// The number of elements when that is at most Constant::max_elements.
std::optional<std::size_t> small_count(std::span<const std::int64_t> sizes);
/// Row-major position. Precondition: every coordinate is inside.
std::size_t flat_index(std::span<const std::int64_t> sizes, std::span<const std::int64_t> coordinates);

/// A value of these sizes whose elements are `pick(coordinates)`; nullopt when it would not be small.
template <class Pick>
std::optional<Constant> build_value(ElementType type, std::vector<std::int64_t> sizes, Pick&& pick) {
  const std::optional<std::size_t> count = small_count(sizes);
  if (!count) return std::nullopt;
  Constant value{.type = type, .shape = std::move(sizes), .elements = {}};
  value.elements.reserve(*count);
  std::vector<std::int64_t> coordinates(value.shape.size(), 0);
  for (std::size_t i = 0; i < *count; ++i) {
    value.elements.push_back(pick(std::span<const std::int64_t>(coordinates)));
    for (std::size_t axis = coordinates.size(); axis-- > 0;) {
      if (++coordinates[axis] < value.shape[axis]) break;
      coordinates[axis] = 0;
    }
  }
  return value;
}

/// input_value, if its sizes are those of the input's type; in an invalid model they may differ.
const Constant* movable_value(InferContext& context, std::size_t input);
/// Gives output 0 the elements of input 0 in their order, if they are known, under the shape that output 0 has.
void keep_elements(InferContext& context);
/// Gives output 0 the content `pick(coordinates)` if its sizes are constant and few.
template <class Pick>
void set_picked(InferContext& context, ElementType type, Pick&& pick) {
  const std::optional<Shape>& shape = context.output_type(0).shape;
  const auto sizes = shape ? constant_sizes(*shape) : std::nullopt;
  if (!sizes) return;
  if (auto value = build_value(type, *sizes, pick)) context.set_value(0, std::move(*value));
}

/// Demands that an input which is a vector has this many elements.
void demand_length(InferContext& context, std::size_t input, std::size_t expected);

/// Length of a vector input, from its shape. Reports rank-mismatch for anything but a vector.
std::optional<std::size_t> vector_length(InferContext& context, std::size_t input);
/// Reports shape-mismatch when the vector provably has another length.
bool length_differs(InferContext& context, std::size_t input, std::size_t expected, std::string_view one_for_each);
/// Reports that an input which must hold a single element provably holds another number of them.
bool is_not_single(InferContext& context, std::size_t input, std::string_view code);

/// Sizes given as the content of a vector input (the target of Expand ...), unknown ones where unknown; nullopt when even their number is.
/// Reports negative-size.
std::optional<Shape> sizes_from_content(InferContext& context, std::size_t input);

/// A list that is an attribute in some versions and an input in others.
struct IntegerList {
  std::optional<std::vector<std::int64_t>> values;  ///< nullopt when absent or unknown
  bool present = false;
  std::optional<std::size_t> length;  ///< known more often than the values
  Where at;
};
IntegerList list_from_attribute(InferContext& context, std::string_view attribute);
/// A scalar counts as a list of one: official models state the axes of Unsqueeze that way.
IntegerList list_from_input(InferContext& context, std::size_t input);

/// Reports index-range where a constant index lies outside [-size, size).
void check_indices(InferContext& context, std::size_t input, Dim size);

/// The shape of this rank with nothing else known.
inline Shape unknown_sizes(std::size_t rank) { return Shape(rank); }

}  // namespace onnxkit::checker
