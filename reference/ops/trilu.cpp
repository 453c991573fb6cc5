// Trilu: the upper or lower triangle of the last two axes, from diagonal k on; the rest is zero.
#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

void trilu(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2, "the input must have at least two axes");
  const Tensor* diagonal = context.find_input(1);
  const std::int64_t k = diagonal ? diagonal->integer() : 0;
  const bool upper = context.integer("upper", 1) != 0;
  const std::int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  Tensor y = context.make(x.type(), x.dims());
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const auto from = x.as<T>();
    const auto to = y.write<T>();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t above = i % columns - i / columns % rows;
      if (upper ? above >= k : above <= k) to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i)];
    }
  });
  context.set_output(0, y);
}

}  // namespace

void register_trilu(KernelRegistry& registry) {
  registry.add("Trilu", all_versions(), trilu, {.noise = noise::moved});
  registry.add("com.microsoft", "Trilu", all_versions(), trilu, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
