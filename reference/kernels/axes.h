#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

// Axes, and the loops along one axis or over several: softmax, cumulative sums, sorting, reductions.
namespace onnxkit::reference {

/// An axis counted from the front; Fault outside [-rank, rank).
std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank);
/// All of them, sorted; Fault when one comes twice.
std::vector<std::int64_t> normalize_axes(std::span<const std::int64_t> axes, std::int64_t rank);

/// The axes that a reduction over a tensor of this rank means, `given` being its input of that name, null when it has none: all of them when it
/// names none, unless noop_with_empty_axes is set.
std::vector<std::int64_t> reduced_axes(const spec::NodeAttributes& attributes, const Tensor* given, std::int64_t rank);

/// Elements between neighbours on each axis, row-major.
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims);

/// An index counted from the front; Fault outside [-size, size).
std::int64_t normalize_index(std::int64_t index, std::int64_t size);

/// Sum of the coordinates, each times its stride, of the element that comes `flat`-th, row-major, in a shape.
inline std::int64_t offset_at(std::int64_t flat, const Dims& dims, std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    offset += flat % dims[axis] * strides[axis];
    flat /= dims[axis];
  }
  return offset;
}

/// Sizes before, at and behind an axis: the tensor as [outer, length, inner].
struct AxisView {
  std::int64_t outer = 1, length = 1, inner = 1;
};
AxisView view_axis(const Dims& dims, std::int64_t axis);

/// Elements at an even distance: one row along any axis of a tensor.
template <class T>
class StridedRow {
 public:
  StridedRow(T* first, std::int64_t length, std::int64_t step) : first_(first), length_(length), step_(step) {}
  std::int64_t size() const { return length_; }
  T& operator[](std::int64_t i) const { return first_[i * step_]; }

 private:
  T* first_;
  std::int64_t length_, step_;
};

/// Calls f(row of x, row of y) for every row along `axis`; x and y have the same dims but for the size of that axis. Rows run on several
/// threads.
template <class X, class Y, class F>
void for_each_strided_row(const KernelContext& context, const Tensor& x, Tensor& y, std::int64_t axis, F f) {
  const AxisView from = view_axis(x.dims(), axis);
  const AxisView to = view_axis(y.dims(), axis);
  const X* const in = x.as<X>().data();
  Y* const out = y.write<Y>().data();
  const std::int64_t grain = 1 + (1 << 13) / std::max<std::int64_t>(1, from.length);
  context.for_range(from.outer * from.inner, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t o = i / from.inner, k = i % from.inner;
      f(StridedRow<const X>(in + o * from.length * from.inner + k, from.length, from.inner),
        StridedRow<Y>(out + o * to.length * to.inner + k, to.length, to.inner));
    }
  });
}

/// The elements that fall together in a reduction, in row-major order.
template <class T>
class ReductionSlice {
 public:
  ReductionSlice(const T* first, std::span<const std::int64_t> offsets) : first_(first), offsets_(offsets) {}
  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()); }
  const T& operator[](std::int64_t i) const { return first_[offsets_[static_cast<std::size_t>(i)]]; }

  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = const T*;
    using reference = const T&;
    Iterator(const T* first, const std::int64_t* offset) : first_(first), offset_(offset) {}
    const T& operator*() const { return first_[*offset_]; }
    Iterator& operator++() {
      ++offset_;
      return *this;
    }
    Iterator operator++(int) { return {first_, offset_++}; }
    bool operator==(const Iterator& other) const { return offset_ == other.offset_; }

   private:
    const T* first_;
    const std::int64_t* offset_;
  };
  Iterator begin() const { return {first_, offsets_.data()}; }
  Iterator end() const { return {first_, offsets_.data() + offsets_.size()}; }

 private:
  const T* first_;
  std::span<const std::int64_t> offsets_;
};

/// The shape that a reduction over `axes` leaves; reduced axes stay as 1 or go.
Dims reduced_dims(const Dims& dims, std::span<const std::int64_t> axes, bool keep_dims);

/// Where the slices of a reduction over `axes` start, and the offsets of their elements.
struct Reduction {
  std::vector<std::int64_t> starts;   ///< of each result
  std::vector<std::int64_t> offsets;  ///< of each element of a slice
};
/// `axes` are normalised; none means that every element is a slice of its own.
Reduction plan_reduction(const Dims& dims, std::span<const std::int64_t> axes);

/// y[i] = f(slice i).
template <class X, class Y, class F>
Tensor reduce(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> axes, bool keep_dims,
              ElementType result, F f) {
  Tensor y = context.make_unset(result, reduced_dims(x.dims(), axes, keep_dims));
  if (y.size() == 0) return y;
  const Reduction plan = plan_reduction(x.dims(), axes);
  const X* const in = x.as<X>().data();
  Y* const out = y.write<Y>().data();
  const auto length = static_cast<std::int64_t>(plan.offsets.size());
  context.for_range(y.size(), 1 + (1 << 14) / (1 + length), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      out[i] = f(ReductionSlice<X>(in + plan.starts[static_cast<std::size_t>(i)], plan.offsets));
  });
  return y;
}

}  // namespace onnxkit::reference
