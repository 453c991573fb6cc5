// TopK: the k largest or smallest elements along an axis, in order; of equal ones those that come first. k is an attribute in version 1, an input
// from 10 on; `largest` and `sorted` come with 11. Without `sorted` the order is ours to choose.
#include <algorithm>

#include "reference/kernels/axes.h"
#include "reference/kernels/order.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void top_k(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.integer("axis", -1), x.rank());
  const std::int64_t k = context.since() < 10 ? context.integer("k") : context.input(1).integer();
  const bool largest = context.integer("largest", 1) != 0;
  require(0 <= k && k <= x.dim(axis), "k is outside the axis");
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = k;
  Tensor indices = context.make(ElementType::int64, std::move(dims));
  if (indices.size() > 0) {
    dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
      for_each_strided_row<T, std::int64_t>(
          context, x, indices, axis, [&](StridedRow<const T> from, StridedRow<std::int64_t> to) {
            std::vector<std::int64_t> order = identity_index(from.size());
            SortWatch watch(context);
            std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
              watch.look();
              const bool before = largest ? precedes(from[b], from[a]) : precedes(from[a], from[b]);
              const bool after = largest ? precedes(from[a], from[b]) : precedes(from[b], from[a]);
              return before || (!after && a < b);
            });
            for (std::int64_t i = 0; i < k; ++i) to[i] = order[static_cast<std::size_t>(i)];
          });
    });
  }
  context.set_output(0, take_along(context, x, indices, axis));
  context.set_output(1, std::move(indices));
}

}  // namespace

void register_top_k(KernelRegistry& registry) { registry.add("TopK", all_versions(), top_k, {.noise = noise::moved}); }

}  // namespace onnxkit::reference
