// NonZero: the coordinates of all elements other than zero, one row for each axis; a scalar has no rows.
#include "reference/kernels/axes.h"

namespace onnxkit::reference {
namespace {

void non_zero(KernelContext& context) {
  const Tensor& x = context.input(0);
  std::vector<std::int64_t> found;
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const std::span<const T> all = x.as<T>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != T()) found.push_back(static_cast<std::int64_t>(i));
    }
  });
  Tensor y = context.make(ElementType::int64, {x.rank(), static_cast<std::int64_t>(found.size())});
  const std::span<std::int64_t> to = y.write<std::int64_t>();
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  for (std::size_t axis = 0; axis < x.dims().size(); ++axis) {
    for (std::size_t i = 0; i < found.size(); ++i)
      to[axis * found.size() + i] = found[i] / strides[axis] % x.dims()[axis];
  }
  context.set_output(0, std::move(y));
}

}  // namespace

void register_non_zero(KernelRegistry& registry) { registry.add("NonZero", all_versions(), non_zero); }

}  // namespace onnxkit::reference
