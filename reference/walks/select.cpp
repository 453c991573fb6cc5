#include "reference/walks/select.h"

#include <algorithm>
#include <numeric>

#include "reference/walks/axes.h"
#include "reference/walks/broadcast.h"

namespace onnxkit::reference {
namespace {

constexpr std::int64_t grain = 1 << 14;

template <class T>
T fill_value(const Tensor* fill) {
  if (!fill) return T();
  require(fill->size() == 1, "the value to fill with must be one element");
  return fill->as<T>()[0];
}

bool is_run(std::span<const std::int64_t> index) {
  for (std::size_t i = 1; i < index.size(); ++i) {
    if (index[i] != index[0] + static_cast<std::int64_t>(i)) return false;
  }
  return index.empty() || index[0] != no_source;
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
  for (const auto& list : index) dims.push_back(static_cast<std::int64_t>(list.size()));
  Tensor y = context.make(x.type(), dims);
  if (y.size() == 0) return y;
  if (dims.empty()) return x;
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  const std::vector<std::int64_t>& inner = index.back();
  const bool inner_is_run = is_run(inner);
  const auto length = static_cast<std::int64_t>(inner.size());
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    const T other = fill_value<T>(fill);
    context.for_range(y.size() / length, 1 + grain / length, [&](std::int64_t first, std::int64_t last) {
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
  return y;
}

Tensor strided(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> strides,
               std::int64_t offset) {
  Tensor y = context.make(x.type(), std::move(dims));
  if (y.size() == 0) return y;
  const std::int64_t length = y.rank() == 0 ? 1 : y.dims().back();
  const std::int64_t step = y.rank() == 0 ? 0 : strides.back();
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data() + offset;
    T* const to = y.write<T>().data();
    context.for_range(y.size() / length, 1 + grain / length, [&](std::int64_t first, std::int64_t last) {
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
  return y;
}

Tensor permute(const KernelContext& context, const Tensor& x, std::span<const std::int64_t> permutation) {
  require(static_cast<std::int64_t>(permutation.size()) == x.rank(), "a permutation must name every axis once");
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
            "tensors of different types or ranks cannot be joined");
    dims[static_cast<std::size_t>(axis)] += part->dim(axis);
    other[static_cast<std::size_t>(axis)] = dims[static_cast<std::size_t>(axis)];
    require(other == dims, "tensors of different sizes cannot be joined");
  }
  Tensor y = context.make(parts.front()->type(), dims);
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
  return y;
}

Tensor slice_axis(const KernelContext& context, const Tensor& x, std::int64_t axis, std::int64_t first,
                  std::int64_t last) {
  require(0 <= first && first <= last && last <= x.dim(axis), "a slice must lie inside the axis");
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = last - first;
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  return strided(context, x, std::move(dims), strides, first * strides[static_cast<std::size_t>(axis)]);
}

Tensor pick(const KernelContext& context, const Tensor& x, Dims dims, std::span<const std::int64_t> offsets,
            const Tensor* fill) {
  Tensor y = context.make(x.type(), std::move(dims));
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    const T other = fill_value<T>(fill);
    context.for_range(y.size(), grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t source = offsets[static_cast<std::size_t>(i)];
        to[i] = source == no_source ? other : from[source];
      }
    });
  });
  return y;
}

}  // namespace onnxkit::reference
