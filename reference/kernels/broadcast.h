#pragma once

#include <array>
#include <span>

#include "libonnxkit/base/system/thread_pool.h"
#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

// The element-wise loop: numpy's broadcasting, one implementation for all operators.
namespace onnxkit::reference {

/// Shape that two or more shapes broadcast to; Fault when they do not.
Dims broadcast_dims(std::span<const Dims> shapes);
Dims broadcast_dims(const Dims& a, const Dims& b);

/// Steps through a tensor of shape `from` in the order of the larger shape `to`: one stride per axis of `to`, 0 where it repeats.
std::vector<std::int64_t> broadcast_strides(const Dims& from, const Dims& to);

/// Calls row(offset_of_result, {offset of each operand}, {step of each operand}, length) for every innermost run of the broadcast shape, split
/// over threads. Axes that all operands step through evenly are merged.
template <std::size_t N>
using RowOffsets = std::array<std::int64_t, N>;

namespace detail {

struct BroadcastAxis {
  std::int64_t length;
  std::array<std::int64_t, 3> steps;
};

/// The axes of `dims` with each operand's steps, neighbours merged where possible; never empty. Operands beyond 3 are not provided for.
std::vector<BroadcastAxis> merged_axes(const Dims& dims, std::span<const Dims* const> operands);

template <std::size_t N, class Row>
void for_each_row(const KernelContext& context, const Dims& dims, std::span<const Dims* const> operands,
                  const Row& row) {
  const std::vector<BroadcastAxis> axes = merged_axes(dims, operands);
  const BroadcastAxis inner = axes.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) rows *= axes[i].length;
  if (inner.length == 0 || rows == 0) return;
  std::array<std::int64_t, N> steps;
  std::copy_n(inner.steps.begin(), N, steps.begin());
  constexpr std::int64_t grain = 1 << 14;
  if (rows == 1) {
    context.for_range(inner.length, grain, [&](std::int64_t first, std::int64_t last) {
      std::array<std::int64_t, N> offsets;
      for (std::size_t k = 0; k < N; ++k) offsets[k] = first * steps[k];
      row(first, offsets, steps, last - first);
    });
    return;
  }
  context.for_range(rows, std::max<std::int64_t>(1, grain / inner.length), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      std::array<std::int64_t, N> offsets{};
      std::int64_t rest = r;
      for (std::size_t axis = axes.size() - 1; axis-- > 0;) {
        const std::int64_t index = rest % axes[axis].length;
        rest /= axes[axis].length;
        for (std::size_t k = 0; k < N; ++k) offsets[k] += index * axes[axis].steps[k];
      }
      row(r * inner.length, offsets, steps, inner.length);
    }
  });
}

}  // namespace detail

/// y[i] = f(a[i]).
template <class A, class R, class F>
Tensor map(const KernelContext& context, const Tensor& a, ElementType result, F f) {
  Tensor y = context.make_unset(result, a.dims());
  const std::span<const A> from = a.as<A>();
  const std::span<R> to = y.write<R>();
  context.for_range(a.size(), 1 << 14, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) to[static_cast<std::size_t>(i)] = f(from[static_cast<std::size_t>(i)]);
  });
  return y;
}

/// y[i] = f(a[i], b[i]) with broadcasting.
template <class A, class B, class R, class F>
Tensor map(const KernelContext& context, const Tensor& a, const Tensor& b, ElementType result, F f) {
  Tensor y = context.make_unset(result, broadcast_dims(a.dims(), b.dims()));
  const A* const from_a = a.as<A>().data();
  const B* const from_b = b.as<B>().data();
  R* const to = y.write<R>().data();
  const Dims* const operands[] = {&a.dims(), &b.dims()};
  detail::for_each_row<2>(context, y.dims(), operands,
                          [&](std::int64_t at, const auto& offsets, const auto& steps, std::int64_t length) {
                            R* const out = to + at;
                            const A* const left = from_a + offsets[0];
                            const B* const right = from_b + offsets[1];
                            if (steps[0] == 1 && steps[1] == 1) {
                              for (std::int64_t i = 0; i < length; ++i) out[i] = f(left[i], right[i]);
                            } else {
                              for (std::int64_t i = 0; i < length; ++i)
                                out[i] = f(left[i * steps[0]], right[i * steps[1]]);
                            }
                          });
  return y;
}

/// y[i] = f(a[i], b[i], c[i]) with broadcasting.
template <class A, class B, class C, class R, class F>
Tensor map(const KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& c, ElementType result, F f) {
  const std::array<Dims, 3> shapes = {a.dims(), b.dims(), c.dims()};
  Tensor y = context.make_unset(result, broadcast_dims(shapes));
  const A* const from_a = a.as<A>().data();
  const B* const from_b = b.as<B>().data();
  const C* const from_c = c.as<C>().data();
  R* const to = y.write<R>().data();
  const Dims* const operands[] = {&a.dims(), &b.dims(), &c.dims()};
  detail::for_each_row<3>(context, y.dims(), operands,
                          [&](std::int64_t at, const auto& offsets, const auto& steps, std::int64_t length) {
                            for (std::int64_t i = 0; i < length; ++i) {
                              to[at + i] = f(from_a[offsets[0] + i * steps[0]], from_b[offsets[1] + i * steps[1]],
                                             from_c[offsets[2] + i * steps[2]]);
                            }
                          });
  return y;
}

}  // namespace onnxkit::reference
