#pragma once

#include <span>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/lowering.h"

// What several lowerings write their steps with.
namespace onnxkit::plan {

/// Of a matrix that a lowering makes, beside those of the model: 32 MiB of float32.
inline constexpr std::int64_t most_matrix_elements = std::int64_t{1} << 23;

/// Orders of axes that bring [n, c, h, w] to [n, h, w, c], and back.
inline constexpr std::int64_t channels_behind[] = {0, 2, 3, 1}, channels_second[] = {0, 3, 1, 2};

/// Negative axes count from the end. Throws Misfit outside of the axes.
std::size_t counted_axis(std::int64_t axis, std::size_t rank);

/// So many elements along one axis, one along the others.
Dims along_axis(std::size_t rank, std::size_t axis, std::int64_t size);
/// A constant of these numbers, which count as a table.
template <class T>
View table_constant(LowerCall& call, std::span<const T> values, Dims dims) {
  call.spend_on_tables(static_cast<std::int64_t>(values.size()), sizeof(T));
  return call.constant(values, std::move(dims));
}
/// Whether 0 <= x < count, of an i64 or an f64.
Expression::Number is_among(Expression& e, Expression::Number x, std::int64_t count);
/// 0, 1, 2 ... along one axis of `dims`, the same along the others.
View positions_along(LowerCall& call, const Dims& dims, std::size_t axis);
/// A new tensor of expression(inputs).
View mapped(LowerCall& call, const Expression& expression, std::vector<View> inputs, ElementType stored, Dims dims);
/// Every element becomes this number.
void fill(LowerCall& call, const View& view, double number);
/// A copy with this number behind it along an axis, up to `size`.
View extended(LowerCall& call, const View& view, std::size_t axis, std::int64_t size, double number);
/// The view itself, or a conversion to the stored type.
View stored_as(LowerCall& call, const View& view, ElementType stored);
/// `view` under other sizes: the view itself, or a copy.
View reshaped_or_copied(LowerCall& call, const View& view, Dims dims);
/// A view around one axis, row-major: its axes in the order in which they lie where it has no gaps, else a copy.
struct LinedAxis {
  View rows;           ///< [outer, elements of the axis, inner]
  Dims dims, back;     ///< of the view with its axes in that order, and the order that brings them back
  std::size_t at = 0;  ///< the axis among them

  std::int64_t outer() const { return rows.dims[0]; }
  std::int64_t inner() const { return rows.dims[2]; }
  /// What stands in for `rows`, [outer, any number, inner], with the axes of the view.
  View restored(const View& other) const;
};
LinedAxis lined_axis(LowerCall& call, const View& view, std::size_t axis);
/// The elements at these positions along an axis. Precondition: the positions are within the axis.
View taken(LowerCall& call, const View& view, std::size_t axis, std::span<const std::int64_t> positions);
/// For each i below `size` element i / block along an axis.
View taken_by_blocks(LowerCall& call, const View& view, std::size_t axis, std::int64_t block, std::int64_t size);
/// The reduction over the axes that go; the others in their order.
View reduced(LowerCall& call, Reduction reduction, const View& view, const std::vector<bool>& goes);
/// x - y and x * x, in the order of axes of x.
View subtracted(LowerCall& call, const View& x, const View& y);
View squared(LowerCall& call, const View& x);
/// Of a float32 or float64 view over the axes that go: mean and variance keep these axes with one element.
struct Statistics {
  View mean, variance, centered;
};
Statistics statistics_over(LowerCall& call, const View& view, const std::vector<bool>& goes);
/// The same around 0: the mean is left out, the variance is the mean of the squares.
Statistics squares_over(LowerCall& call, const View& view, const std::vector<bool>& goes);
/// x [n, c, ...] of float32 or float64, normalised within groups of channels, times input 1 plus input 2 by channel; nothing where the sizes do not fit.
std::optional<View> normalized_groups(LowerCall& call, const View& x, std::int64_t groups);
/// Where the greatest or the least number is along an axis, which keeps one element: the first or the last of equal ones; a NaN is either.
View extreme_positions(LowerCall& call, Reduction extreme, const View& x, std::size_t axis, bool takes_last = false);
/// Where the first of the greatest is along an axis, which keeps one element. A NaN is the greatest where it is the first of its line, and nothing
/// elsewhere.
View first_greatest(LowerCall& call, const View& x, std::size_t axis);
/// The same: one at that place, in the type of x, and zero elsewhere.
View marked_greatest(LowerCall& call, const View& x, std::size_t axis);
/// The axes from `first` on, or one, for reduced.
std::vector<bool> last_axes(std::size_t rank, std::size_t first);
std::vector<bool> only_axis(std::size_t rank, std::size_t axis);
/// output 0 is this view, converted to the stored type of the output and under its sizes.
void give(LowerCall& call, const View& view);
/// The stored type in which the view is reduced and multiplied: float32, float64 or int64.
ElementType wide_type(ElementType type);
/// The bytes of a tensor as a constant of uint8.
View bytes_of(LowerCall& call, const Tensor& content);
/// The numbers as a constant of float32, [n, k].
View unpacked(LowerCall& call, const BlockedWeights& blocks, const Tensor& numbers);
/// A product whose b are these numbers in blocks (ProductParameters::blocks): as they are packed, or as a constant of float32 where the backend does
/// not take them so. Input 1 is the constant of their bytes.
void emit_packed_product(LowerCall& call, std::vector<View> inputs, const View& output, ProductParameters parameters,
                         const Tensor& numbers);
/// As a product reads its left operand.
View rows_side_by_side(LowerCall& call, const View& view);
/// As numpy's matmul, with the sizes of the result; a and b of one stored type that a product takes, and no epilogue.
View matrix_product(LowerCall& call, View a, View b, Dims dims, ProductParameters parameters = {});
/// a [..., m, k] times b [..., k, n], of one stored type that a product takes and of the same leading sizes. Rows of a lie side by side.
View multiplied(LowerCall& call, const View& a, const View& b);

}  // namespace onnxkit::plan
