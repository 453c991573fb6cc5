// AffineGrid: a matrix for each batch, applied to the positions of all elements of an image of the given size, from -1 to 1 along each axis.
#include <array>

#include "reference/kernels/axes.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// With align_corners the outer elements lie at -1 and 1, else their outer edges do.
double position_affine_grid(std::int64_t i, std::int64_t size, bool align_corners) {
  const auto at = static_cast<double>(i), count = static_cast<double>(size);
  if (!align_corners) return (2 * at + 1) / count - 1;
  return size == 1 ? -1 : 2 * at / (count - 1) - 1;
}

void affine_grid(KernelContext& context) {
  const Tensor& theta = context.input(0);
  const std::vector<std::int64_t> size = context.input(1).integers();
  require(size.size() == 4 || size.size() == 5, "the size must have 4 or 5 entries");
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  require(theta.dims() == Dims{size[0], axes, axes + 1}, "the matrices do not match the size");
  const bool align_corners = context.integer("align_corners") != 0;
  const Dims sizes(size.begin() + 2, size.end());
  Dims dims = sizes;
  dims.insert(dims.begin(), size[0]);
  dims.push_back(axes);
  Tensor y = context.make(theta.type(), std::move(dims));
  const std::int64_t points = element_count(sizes);
  const double* const from = theta.as<double>().data();
  double* const to = y.write<double>().data();
  context.for_range(size[0] * points, 1 << 12, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::array<double, 4> at{};  // from the innermost axis on, then a 1
      std::int64_t rest = i;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        const std::int64_t count = sizes[sizes.size() - 1 - axis];
        at[axis] = position_affine_grid(rest % count, count, align_corners);
        rest /= count;
      }
      at[sizes.size()] = 1;
      for (std::int64_t row = 0; row < axes; ++row) {
        const double* const matrix = from + (rest * axes + row) * (axes + 1);
        ExactSum sum;
        for (std::int64_t k = 0; k <= axes; ++k) sum.add_product(matrix[k], at[static_cast<std::size_t>(k)]);
        to[i * axes + row] = sum.value();
      }
    }
  });
  context.set_output(0, std::move(y));
}

}  // namespace

void register_affine_grid(KernelRegistry& registry) {
  registry.add("AffineGrid", all_versions(), affine_grid, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
