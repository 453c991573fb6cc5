#include "reference/kernels/select.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"

namespace onnxkit::reference {
namespace {

constexpr std::int64_t selection_grain = 1 << 14;

/// Elements of x and `fill`, or zeros without it, need no rounding.
bool is_rounded(const Tensor& x, const Tensor* fill) {
  return x.is_rounded() && (fill ? fill->is_rounded() : x.type() != ElementType::float8e8m0);  // which has no zero
}

bool is_run(std::span<const std::int64_t> index) {
  for (std::size_t i = 1; i < index.size(); ++i) {
    if (index[i] != index[0] + static_cast<std::int64_t>(i)) return false;
  }
  return index.empty() || index[0] != no_source;
}

/// y is not empty and has an axis.
void select_into(const KernelContext& context, const Tensor& x, Tensor& y,
                 std::span<const std::span<const std::int64_t>> index, const Tensor* fill) {
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  const std::span<const std::int64_t> inner = index.back();
  const bool inner_is_run = is_run(inner);
  const auto length = static_cast<std::int64_t>(inner.size());
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    const T other = fill ? fill_value<T>(*fill) : T();
    context.for_range(y.size() / length, 1 + selection_grain / length, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        std::int64_t offset = 0, rest = row;
        bool has_source = true;
        for (std::size_t axis = index.size() - 1; axis-- > 0;) {
          const auto size = static_cast<std::int64_t>(index[axis].size());
          const std::int64_t source = index[axis][static_cast<std::size_t>(rest % size)];
          rest /= size;
          has_source = has_source && source != no_source;
          offset += source * strides[axis];
        }
        T* const out = to + row * length;
        if (!has_source) {
          std::fill_n(out, length, other);
        } else if (inner_is_run) {
          std::copy_n(from + offset + inner[0], length, out);
        } else {
          for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t source = inner[static_cast<std::size_t>(i)];
            out[i] = source == no_source ? other : from[offset + source];
          }
        }
      }
    });
  });
}

}  // namespace

std::vector<std::int64_t> identity_index(std::int64_t count) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(count));
  std::iota(index.begin(), index.end(), std::int64_t{0});
  return index;
}

Tensor select(const KernelContext& context, const Tensor& x, std::span<const std::vector<std::int64_t>> index,
              const Tensor* fill) {
  Dims dims;
  std::vector<std::span<const std::int64_t>> lists;
  for (const auto& list : index) {
    dims.push_back(static_cast<std::int64_t>(list.size()));
    lists.emplace_back(list);
  }
  Tensor y = context.make_unset(x.type(), dims);
  if (y.size() == 0) return y;
  if (dims.empty()) return x;
  select_into(context, x, y, lists, fill);
  y.mark_rounded(is_rounded(x, fill));
  return y;
}

Tensor select(const KernelContext& context, const Tensor& x, Dims dims, const AxisSource& source, const Tensor* fill) {
  Tensor y = context.make_unset(x.type(), std::move(dims));
  if (y.size() == 0) return y;
  if (y.rank() == 0) return x;
  std::vector<Tensor> held;
  std::vector<std::span<const std::int64_t>> lists;
  for (std::int64_t axis = 0; axis < y.rank(); ++axis) {
    held.push_back(context.make(ElementType::int64, {y.dim(axis)}));
    const std::span<std::int64_t> list = held.back().write<std::int64_t>();
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = source(axis, static_cast<std::int64_t>(i));
    lists.emplace_back(list);
  }
  select_into(context, x, y, lists, fill);
  y.mark_rounded(is_rounded(x, fill));
  return y;
}

Tensor strided(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> strides,
               std::int64_t offset) {
  Tensor y = context.make_unset(x.type(), std::move(dims));
  if (y.size() == 0) return y;
  const std::int64_t length = y.rank() == 0 ? 1 : y.dims().back();
  const std::int64_t step = y.rank() == 0 ? 0 : strides.back();
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data() + offset;
    T* const to = y.write<T>().data();
    context.for_range(y.size() / length, 1 + selection_grain / length, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        std::int64_t source = 0, rest = row;
        for (std::int64_t axis = y.rank() - 1; axis-- > 0;) {
          source += rest % y.dim(axis) * strides[static_cast<std::size_t>(axis)];
          rest /= y.dim(axis);
        }
        T* const out = to + row * length;
        if (step == 1) {
          std::copy_n(from + source, length, out);
        } else {
          for (std::int64_t i = 0; i < length; ++i) out[i] = from[source + i * step];
        }
      }
    });
  });
  y.mark_rounded(x.is_rounded());
  return y;
}

Tensor permute(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> permutation) {
  require(static_cast<std::int64_t>(permutation.size()) == x.rank(), "a permutation must list every axis once");
  require(std::all_of(permutation.begin(), permutation.end(), [](std::int64_t axis) { return axis >= 0; }),
          "a permutation must not have negative entries");
  normalize_axes(permutation, x.rank());
  const std::vector<std::int64_t> from = strides_of(x.dims());
  Dims dims;
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : permutation) {
    dims.push_back(x.dim(axis));
    strides.push_back(from[static_cast<std::size_t>(axis)]);
  }
  return strided(context, x, std::move(dims), strides);
}

Tensor expand(const KernelContext& context, const Tensor& x, const Dims& dims) {
  if (x.dims() == dims) return x;
  require(broadcast_dims(x.dims(), dims) == dims, "the tensor does not broadcast to the shape");
  return strided(context, x, dims, broadcast_strides(x.dims(), dims));
}

Tensor concat(const KernelContext& context, std::span<const Tensor* const> parts, std::int64_t axis) {
  Dims dims = parts.front()->dims();
  dims[static_cast<std::size_t>(axis)] = 0;
  for (const Tensor* part : parts) {
    Dims other = part->dims();
    require(part->type() == parts.front()->type() && other.size() == dims.size(),
            "tensors of different types or ranks cannot be concatenated");
    std::int64_t& total = dims[static_cast<std::size_t>(axis)];
    require(part->dim(axis) <= std::numeric_limits<std::int64_t>::max() - total, "the concatenated axis is too long");
    total += part->dim(axis);
    other[static_cast<std::size_t>(axis)] = total;
    require(other == dims, "tensors of different sizes cannot be concatenated");
  }
  Tensor y = context.make_unset(parts.front()->type(), dims);
  if (y.size() == 0) return y;
  const AxisView to = view_axis(dims, axis);
  dispatch_all(y.domain(), [&]<class T>(std::type_identity<T>) {
    T* out = y.write<T>().data();
    for (const Tensor* part : parts) {
      const T* const from = part->as<T>().data();
      const std::int64_t length = part->dim(axis) * to.inner;
      for (std::int64_t o = 0; o < to.outer; ++o)
        std::copy_n(from + o * length, length, out + o * to.length * to.inner);
      out += length;
    }
  });
  y.mark_rounded(std::all_of(parts.begin(), parts.end(), [](const Tensor* part) { return part->is_rounded(); }));
  return y;
}

Tensor slice_axis(const KernelContext& context, const Tensor& x, std::int64_t axis, std::int64_t first,
                  std::int64_t last) {
  require(0 <= first && first <= last && last <= x.dim(axis), "a slice must be inside the axis");
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = last - first;
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  return strided(context, x, std::move(dims), strides, first * strides[static_cast<std::size_t>(axis)]);
}

Tensor pick(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> offsets,
            const Tensor* fill) {
  return pick(
      context, x, std::move(dims), [offsets](std::int64_t i) { return offsets[static_cast<std::size_t>(i)]; }, fill);
}

Tensor take_along(const KernelContext& context, const Tensor& x, const Tensor& indices, std::int64_t axis) {
  require(indices.rank() == x.rank(), "data and indices have different ranks");
  for (std::int64_t i = 0; i < x.rank(); ++i)
    require(i == axis || indices.dim(i) <= x.dim(i), "indices are larger than the data");
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  const std::int64_t length = x.dim(axis), step = strides[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> others = strides;
  others[static_cast<std::size_t>(axis)] = 0;
  const std::vector<std::int64_t> index = indices.integers();
  return pick(context, x, indices.dims(), [&](std::int64_t i) {
    return offset_at(i, indices.dims(), others) + normalize_index(index[static_cast<std::size_t>(i)], length) * step;
  });
}

}  // namespace onnxkit::reference
