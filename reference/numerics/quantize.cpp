#include "reference/numerics/quantize.h"

#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/noise/edges.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/reals.h"
#include "reference/numerics/unrounded.h"

namespace onnxkit::reference {

Tensor without_zero_point(const KernelContext& context, const Tensor& x, const Tensor* zero_point, std::int64_t axis) {
  const Tensor real = as_reals(context, x);
  if (!zero_point) return real;
  require(zero_point->domain() == x.domain(), "the zero point and the quantized tensor have different types");
  Dims dims = zero_point->dims();
  if (zero_point->size() == 1) {
    dims.clear();
  } else if (zero_point->rank() == 1) {
    require(0 <= axis && axis < x.rank() && zero_point->size() == x.dim(axis),
            "the number of zero points differs from the number of slices");
    dims.resize(static_cast<std::size_t>(x.rank() - axis), 1);
  }
  const Tensor zero = as_reals(context, *zero_point).reshaped(dims);
  require(broadcast_dims(x.dims(), dims) == x.dims(), "the zero point does not match the quantized tensor");
  return map<double, double, double>(context, real, zero, real.type(), [](double v, double z) { return v - z; });
}

Tensor over_edges(const KernelContext& context, const Tensor& quotients, ElementType type) {
  const Edges* const edges = context.edges();
  if (!edges || !is_quantized_type(type) || domain_of(type) == Domain::real) return quotients;
  Tensor moved = context.make_unset(quotients.type(), quotients.dims());
  const std::span<const double> from = quotients.as<double>();
  const std::span<double> to = moved.write<double>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = edges->moved(from[i], quotient_sigma(from[i], type), context.node_index(), i);
  return moved;
}

Tensor quantized(const KernelContext& context, const Tensor& exact, const Tensor& zero_point) {
  const ElementType type = zero_point.type();
  const Tensor x = over_edges(context, exact, type);
  require(zero_point.size() == 1, "the zero point of the result must be one element");
  return dispatch_numbers(zero_point.domain(), [&]<class T>(std::type_identity<T>) {
    const auto zero = static_cast<double>(zero_point.as<T>()[0]);
    if constexpr (std::is_same_v<T, double>) {
      return map<double, double>(context, x, type, [=](double v) { return round_to(type, v + zero); });
    } else {
      const auto least = static_cast<double>(least_of(type)), greatest = static_cast<double>(greatest_of(type));
      return map<double, T>(context, x, type, [=](double v) {
        return std::isnan(v) ? T() : from_real<T>(std::clamp(std::nearbyint(v) + zero, least, greatest));
      });
    }
  });
}

}  // namespace onnxkit::reference
