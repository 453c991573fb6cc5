// Softmax, LogSoftmax, Hardmax. Until version 12 `axis` splits the input into a matrix whose rows are normalised, from 13 on it is the one
// axis that is.
#include <algorithm>
#include <cmath>

#include "reference/kernels/derivatives.h"
#include "reference/kernels/log_softmax.h"

namespace onnxkit::reference {
namespace {

using SoftmaxFunction = void (*)(StridedRow<const double> x, StridedRow<double> y);

double greatest_softmax(StridedRow<const double> x) {
  double most = x[0];
  for (std::int64_t i = 1; i < x.size(); ++i) most = std::max(most, x[i]);
  return most;
}

void softmax(StridedRow<const double> x, StridedRow<double> y) {
  const double most = greatest_softmax(x);
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += y[i] = std::exp(x[i] - most);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] /= sum;
}

/// One at the first of the greatest elements.
void hardmax(StridedRow<const double> x, StridedRow<double> y) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < x.size(); ++i) {
    if (x[i] > x[best]) best = i;
  }
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = i == best;
}

template <SoftmaxFunction f>
void along_axis_softmax(KernelContext& context) {
  Tensor x = context.input(0);
  const Dims dims = x.dims();
  std::int64_t axis = normalize_axis(context.integer("axis"), std::max<std::int64_t>(x.rank(), 1));
  if (context.since() < 13) {
    const AxisView view = view_axis(dims, axis);
    x = x.reshaped({view.outer, view.length * view.inner});
    axis = 1;
  } else if (x.rank() == 0) {
    x = x.reshaped({1});
  }
  context.sums_over(x.dim(axis));
  Tensor y = context.make_unset(x.type(), x.dims());
  if (x.size() > 0) for_each_strided_row<double, double>(context, x, y, axis, f);
  context.set_output(0, y.reshaped(dims));
}

}  // namespace

void register_softmax(KernelRegistry& registry) {
  registry.add("Softmax", all_versions(), along_axis_softmax<softmax>,
               {.noise = noise::along_axis, .derivative = derivative::softmax});
  registry.add("LogSoftmax", all_versions(), along_axis_softmax<log_softmax>,
               {.noise = noise::along_axis, .derivative = derivative::log_softmax});
  registry.add("Hardmax", all_versions(), along_axis_softmax<hardmax>, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
