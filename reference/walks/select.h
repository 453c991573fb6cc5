#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernel.h"
#include "reference/tensor.h"

// Data movement: one implementation for all element types.
namespace onnxkit::reference {

/// Where an element of the result has no source.
constexpr std::int64_t no_source = -1;

/// y[i0, i1, ...] = x[index[0][i0], index[1][i1], ...], or `fill` (a scalar of x's type, zero when null) where an index is no_source. One list
/// per axis of x. Slice, Pad, Tile, Expand, Gather along an axis, Reverse ... are lists of indices.
Tensor select(const KernelContext& context, const Tensor& x, std::span<const std::vector<std::int64_t>> index,
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

/// y[i] = x[offsets[i]], flat; no_source gives `fill` or zero. y has `dims`.
Tensor pick(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> offsets,
            const Tensor* fill = nullptr);

}  // namespace onnxkit::reference
