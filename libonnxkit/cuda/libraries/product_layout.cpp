#include "libonnxkit/cuda/libraries/product_layout.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace onnxkit::cuda {
namespace {

using plan::Dims;
using plan::View;

constexpr std::int64_t most_calls = 32;

/// `rows` and `columns` as BLAS sees them, which lie `row_stride` and `column_stride` apart.
std::optional<BlasMatrix> matrix_of(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                    std::int64_t column_stride) {
  // An axis of one element has no stride to speak of.
  if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows))
    return BlasMatrix{.rows = rows, .columns = columns, .leading = columns == 1 ? rows : column_stride};
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns))
    return BlasMatrix{
        .rows = columns, .columns = rows, .leading = rows == 1 ? columns : row_stride, .is_transposed = true};
  return std::nullopt;
}

/// The factor number `input` of the step as the matrix `rows` x `columns` of the product in column-major order.
std::optional<BlasMatrix> factor(const View& view, bool is_swapped) {
  const std::size_t rank = view.rank();
  const std::int64_t rows = view.dims[rank - 2], columns = view.dims[rank - 1];
  const std::int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
  return is_swapped ? matrix_of(columns, rows, column, row) : matrix_of(rows, columns, row, column);
}

View leading_axes(const View& view, std::size_t count) {
  View leading = view;
  leading.dims.resize(count);
  leading.strides.resize(count);
  return leading;
}

/// The batch is the axis that saves the most calls; what is left is gone through from outside.
void set_batches(ProductLayout& layout, const plan::Step& step) {
  const std::vector<const View*> views = views_of(step);
  const std::size_t count = step.outputs[0].rank() - 2;
  std::vector<View> leading;
  for (const View* view : views) leading.push_back(leading_axes(*view, count));
  std::vector<const View*> pointers;
  for (const View& view : leading) pointers.push_back(&view);
  plan::Loops loops = plan::joined_loops(pointers);
  layout.batch_strides.assign(views.size(), 0);
  layout.outer_strides.assign(views.size(), {});
  if (loops.sizes.empty()) return;
  const auto longest = std::max_element(loops.sizes.begin(), loops.sizes.end()) - loops.sizes.begin();
  layout.batches = loops.sizes[static_cast<std::size_t>(longest)];
  for (std::size_t view = 0; view < views.size(); ++view) {
    layout.batch_strides[view] = loops.strides[view][static_cast<std::size_t>(longest)];
    loops.strides[view].erase(loops.strides[view].begin() + longest);
    layout.outer_strides[view] = loops.strides[view];
  }
  loops.sizes.erase(loops.sizes.begin() + longest);
  layout.outer = loops.sizes;
}

bool is_int32(std::int64_t value) { return value <= std::numeric_limits<std::int32_t>::max(); }

}  // namespace

std::int64_t ProductLayout::offset(std::size_t view, std::int64_t call) const {
  std::int64_t offset = 0;
  for (std::size_t axis = outer.size(); axis-- > 0;) {
    offset += call % outer[axis] * outer_strides[view][axis];
    call /= outer[axis];
  }
  return offset;
}

std::vector<const View*> views_of(const plan::Step& step) {
  std::vector<const View*> views = {&step.outputs[0]};
  for (const View& input : step.inputs) views.push_back(&input);
  return views;
}

Result<ProductLayout> layout_of(const plan::Step& step) {
  const View &a = step.inputs[0], &b = step.inputs[1], &to = step.outputs[0];
  const std::size_t rank = to.rank();
  const std::int64_t rows = to.dims[rank - 2], columns = to.dims[rank - 1];
  const std::int64_t row = to.strides[rank - 2], column = to.strides[rank - 1];
  ProductLayout layout;
  // Both fit for a vector; rows side by side are what lowerings make.
  const auto swapped = matrix_of(columns, rows, column, row), as_is = matrix_of(rows, columns, row, column);
  layout.is_swapped = swapped && !swapped->is_transposed;
  if (!layout.is_swapped && !(as_is && !as_is->is_transposed))
    return make_error("not-supported", "neither the rows nor the columns of the output lie side by side");
  layout.d = layout.is_swapped ? *swapped : *as_is;
  const auto first = factor(layout.is_swapped ? b : a, layout.is_swapped),
             second = factor(layout.is_swapped ? a : b, layout.is_swapped);
  if (!first || !second)
    return make_error("not-supported", "neither the rows nor the columns of a factor lie side by side");
  layout.a = *first;
  layout.b = *second;
  layout.m = layout.d.rows;
  layout.n = layout.d.columns;
  layout.k = a.dims[rank - 1];
  set_batches(layout, step);
  layout.d.stride = layout.batch_strides[0];
  layout.a.stride = layout.batch_strides[layout.is_swapped ? 2 : 1];
  layout.b.stride = layout.batch_strides[layout.is_swapped ? 1 : 2];
  if (layout.batches > 1 && layout.d.stride == 0) return make_error("not-supported", "products in the same place");
  if (layout.calls() > most_calls) return make_error("not-supported", "more batches than a few calls go through");
  if (!is_int32(layout.m) || !is_int32(layout.n) || !is_int32(layout.k) || !is_int32(layout.batches))
    return make_error("not-supported", "a size of more than 31 bits");
  return layout;
}

AddendLayout addend_layout_of(const ProductLayout& layout, const plan::Step& step, std::size_t input) {
  const View& view = step.inputs[input];
  const std::size_t rank = view.rank();
  std::int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
  if (layout.is_swapped) std::swap(row, column);
  AddendLayout addend;
  addend.matrix.stride = layout.batch_strides[input + 1];
  if (layout.m != 1 && row != 1) return addend;
  if (layout.n == 1 || column == 0) {
    addend.kind = Addend::vector;
  } else if (column >= layout.m) {
    addend.kind = Addend::matrix;
  } else {
    return addend;
  }
  addend.matrix.rows = layout.m;
  addend.matrix.columns = layout.n;
  addend.matrix.leading = addend.kind == Addend::vector ? layout.m : column;
  return addend;
}

}  // namespace onnxkit::cuda
