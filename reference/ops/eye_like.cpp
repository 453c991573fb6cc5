// EyeLike: ones on diagonal k of a matrix of the input's shape; of the input's type unless `dtype` names another.
#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

void eye_like(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 2, "the input is not a matrix");
  const std::int64_t k = context.integer("k");
  Tensor y = context.make(context.named_type("dtype", x.type()), x.dims());
  dispatch_scalars(y.domain(), [&]<class T>(std::type_identity<T>) {
    const auto ones = y.write<T>();
    const std::int64_t columns = x.dim(1);
    for (std::int64_t row = 0; row < x.dim(0) && !ones.empty(); ++row) {
      // row + k lies in [0, columns)
      if (k >= -row && k < columns - row) ones[static_cast<std::size_t>(row * columns + row + k)] = 1;
    }
  });
  context.set_output(0, y);
}

}  // namespace

void register_eye_like(KernelRegistry& registry) {
  registry.add("EyeLike", all_versions(), eye_like, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
