#pragma once

#include <array>
#include <functional>
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

namespace detail {

/// For each of up to three operands.
using RowOffsets = std::array<std::int64_t, 3>;
/// The elements [at, at + length) of the result, which come from offset + i * step of each operand.
using RowLoop =
    std::function<void(std::int64_t at, const RowOffsets& offsets, const RowOffsets& steps, std::int64_t length)>;

/// Calls row for every innermost run of the broadcast shape, split over threads. Axes that all operands step through evenly are merged.
void for_each_row(const KernelContext& context, const Dims& dims, std::span<const Dims* const> operands,
                  const RowLoop& row);

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
  detail::for_each_row(context, y.dims(), operands,
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
  detail::for_each_row(context, y.dims(), operands,
                       [&](std::int64_t at, const auto& offsets, const auto& steps, std::int64_t length) {
                         for (std::int64_t i = 0; i < length; ++i) {
                           to[at + i] = f(from_a[offsets[0] + i * steps[0]], from_b[offsets[1] + i * steps[1]],
                                          from_c[offsets[2] + i * steps[2]]);
                         }
                       });
  return y;
}

}  // namespace onnxkit::reference
