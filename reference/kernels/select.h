#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/executor/kernel.h"
#include "reference/executor/tensor.h"

// Data movement: one implementation for all element types.
namespace onnxkit::reference {

/// Where an element of the result has no source.
constexpr std::int64_t no_source = -1;

/// The only element of a tensor to fill with.
template <class T>
T fill_value(const Tensor& fill) {
  require(fill.size() == 1, "the fill value must be one element");
  return fill.as<T>()[0];
}

/// y[i0, i1, ...] = x[index[0][i0], index[1][i1], ...], or `fill` (a scalar of x's type, zero when null) where an index is no_source. One list
/// per axis of x. Slice, Pad, Tile, Expand, Gather along an axis, Reverse ... are lists of indices.
Tensor select(const KernelContext& context, const Tensor& x, std::span<const std::vector<std::int64_t>> index,
              const Tensor* fill = nullptr);

/// Index on an axis of the source for an index on that axis of the result, or no_source.
using AxisSource = std::function<std::int64_t(std::int64_t axis, std::int64_t index)>;
/// The same with lists that a function gives; `dims` are those of the result, of x's rank.
Tensor select(const KernelContext& context, const Tensor& x, Dims dims, const AxisSource& source,
              const Tensor* fill = nullptr);

/// 0, 1, ... count - 1.
std::vector<std::int64_t> identity_index(std::int64_t count);

/// y[i0, i1, ...] = x at offset + i0 * strides[0] + i1 * strides[1] ...; every offset must lie inside x.
Tensor strided(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> strides,
               std::int64_t offset = 0);

/// Axis k of the result is axis permutation[k] of x.
Tensor permute(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> permutation);

/// x repeated along axes of size 1 (or new ones in front) to `dims`, as broadcasting does.
Tensor expand(const KernelContext& context, const Tensor& x, const Dims& dims);

/// Joined along an existing axis; the other sizes and the types must agree.
Tensor concat(const KernelContext& context, std::span<const Tensor* const> parts, std::int64_t axis);

/// Elements [first, last) of one axis.
Tensor slice_axis(const KernelContext& context, const Tensor& x, std::int64_t axis, std::int64_t first,
                  std::int64_t last);

/// y[i] = x[source(i)], flat; no_source gives `fill` or zero. y has `dims`.
template <std::invocable<std::int64_t> Source>
Tensor pick(const KernelContext& context, const Tensor& x, Dims dims, Source source, const Tensor* fill = nullptr) {
  Tensor y = context.make_unset(x.type(), std::move(dims));
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    const T other = fill ? fill_value<T>(*fill) : T();
    context.for_range(y.size(), 1 << 14, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t offset = source(i);
        to[i] = offset == no_source ? other : from[offset];
      }
    });
  });
  return y;
}

/// y[i] = x[offsets[i]], flat, as above.
Tensor pick(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> offsets,
            const Tensor* fill = nullptr);

/// y has the shape of `indices`, which must fit x but for its size on `axis`: y[..., i, ...] = x[..., indices[..., i, ...], ...]. Negative indices
/// count from the end; Fault when one is outside.
Tensor take_along(const KernelContext& context, const Tensor& x, const Tensor& indices, std::int64_t axis);

}  // namespace onnxkit::reference
