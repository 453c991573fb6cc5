#include "reference/kernels/contract.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"

namespace onnxkit::reference {

Tensor matrix_product(const KernelContext& context, const Tensor& a, const Tensor& b) {
  require(a.rank() > 0 && b.rank() > 0, "a scalar cannot be multiplied as a matrix");
  require(a.domain() == b.domain(), "the operands have different types");
  Dims left = a.dims(), right = b.dims();
  if (a.rank() == 1) left.insert(left.begin(), 1);
  if (b.rank() == 1) right.push_back(1);
  const std::int64_t rows = left[left.size() - 2], inner = left.back(), columns = right.back();
  require(inner == right[right.size() - 2], [&] {
    return fmt::format("inner sizes differ: [{}] times [{}]", fmt::join(a.dims(), ", "), fmt::join(b.dims(), ", "));
  });
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  const Dims batch = broadcast_dims(left, right);
  const std::vector<std::int64_t> left_steps = broadcast_strides(left, batch),
                                  right_steps = broadcast_strides(right, batch);

  Dims dims = batch;
  if (a.rank() > 1) dims.push_back(rows);
  if (b.rank() > 1) dims.push_back(columns);
  Tensor c = context.make_unset(a.type(), dims);
  const std::int64_t matrices = element_count(batch);
  dispatch_numbers(a.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from_a = a.as<T>().data();
    const T* const from_b = b.as<T>().data();
    T* const to = c.write<T>().data();
    const auto multiply = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t m = first; m < last; ++m) {
        std::int64_t at_a = 0, at_b = 0, rest = m;
        for (std::size_t axis = batch.size(); axis-- > 0;) {
          at_a += rest % batch[axis] * left_steps[axis];
          at_b += rest % batch[axis] * right_steps[axis];
          rest /= batch[axis];
        }
        multiply_matrices<T>(context, a.type(), row_major(from_a + at_a * rows * inner, rows, inner),
                             row_major(from_b + at_b * inner * columns, inner, columns),
                             row_major(to + m * rows * columns, rows, columns));
      }
    };
    // Many small products run side by side, few large ones are each split.
    if (matrices >= 2 * context.threads().threads())
      context.for_range(matrices, 1, multiply);
    else
      multiply(0, matrices);
  });
  return c;
}

}  // namespace onnxkit::reference
