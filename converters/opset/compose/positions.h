#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"

// Small compositions about shapes and positions, written for the opset that a step leads to.
namespace onnxkit::opset {

/// Behind every axis.
inline constexpr std::int64_t to_the_end = 2147483647;

/// Broadcasts the second to the first, before opset 7, too.
ValueId arithmetic(Step& step, std::string_view op, ValueId a, ValueId b, std::string_view hint = {});
/// The sizes of a result: what inference knows and, of axes whose size depends on data, what the model itself declares of its
/// outputs; the plan says so.
std::optional<checker::Shape> promised_shape(Step& step, ValueId value);
/// The same when all are constants.
std::optional<std::vector<std::int64_t>> promised_sizes(Step& step, ValueId value);
/// A vector of float64, in which positions are computed exactly in every version.
ValueId reals(Step& step, const std::vector<double>& values);
/// 0, 1 ... count - 1 as such a vector.
ValueId counted_reals(Step& step, std::int64_t count);
ValueId clamped(Step& step, ValueId x, ValueId least, ValueId most);
/// Product of a vector of int64, as a vector of one element; that of nothing is 1.
ValueId product_of(Step& step, ValueId vector);
/// Sizes of some axes as a vector; `begin` and `end` may count from the end.
ValueId sizes_of(Step& step, ValueId x, std::int64_t begin, std::int64_t end);
/// The size of one axis as a vector of one element; the axis may count from the end.
ValueId size_vector(Step& step, ValueId x, std::int64_t axis);
/// The rank as a vector of one element.
ValueId rank_of(Step& step, ValueId x);
/// The same elements with so many axes that Reshape to `shape` finds a 0 to copy for each 0: an empty tensor with size 0 in all axes. From opset 8 on.
ValueId with_zero_sizes(Step& step, ValueId x, ValueId shape);
/// Indices into `axis` of the data as int64, none of them negative any more. From opset 6 on.
ValueId nonnegative_indices(Step& step, ValueId data, ValueId indices, std::int64_t axis);
/// The same for inputs of the node, in place.
void indices_from_front(Step& step, std::size_t data, std::size_t indices, std::int64_t axis);
/// One operator after the other: the first reads x, the last writes `output`.
struct Link {
  std::string_view op;
  std::vector<ValueId> more_inputs;
  std::vector<Attr> attributes;
};
void chain(Step& step, ValueId x, std::vector<Link> links, ValueId output);
/// The node writes `result` now, and what is added from here on makes the output of it.
ValueId intercept_output(Step& step, std::size_t output, std::string_view hint);
/// All axes reversed before the node and after it: axis -1 is axis 0 there, whatever the rank is.
void reverse_axes_around(Step& step, std::size_t inputs);
/// `axis` counted from the front; where no rank is known the axes of the first `inputs` inputs are reversed around the node.
void axis_from_front(Step& step, std::string_view attribute, std::size_t inputs);

}  // namespace onnxkit::opset
