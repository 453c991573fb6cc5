// Dropout. Until version 6 it drops unless `is_test` is set; from 7 to 11 it never does; from 12 on the input training_mode decides, and the ratio
// is an input. The mask has the type of the data until version 9, then bool; it is 1 where data stay, thus everywhere when nothing is dropped.
#include <algorithm>

#include "reference/executor/kernel.h"
#include "reference/numerics/random.h"

namespace onnxkit::reference {
namespace {

bool drops(const KernelContext& context) {
  if (context.since() < 7) return context.integer("is_test") == 0;
  if (context.since() < 12) return false;
  const Tensor* training_mode = context.find_input(2);
  return training_mode && training_mode->integer() != 0;
}

double ratio_of(const KernelContext& context) {
  if (context.since() < 12) return context.real("ratio", 0.5F);
  const Tensor* ratio = context.find_input(1);
  return ratio ? ratio->real() : 0.5;
}

void dropout(KernelContext& context) {
  const Tensor& x = context.input(0);
  const double ratio = drops(context) ? ratio_of(context) : 0;
  require(ratio >= 0 && ratio < 1, "the ratio is not in [0, 1)");
  Tensor mask = context.make(context.since() < 10 ? x.type() : ElementType::boolean, x.dims());
  Tensor y = x;
  dispatch_scalars(mask.domain(), [&]<class T>(std::type_identity<T>) {
    const auto kept = mask.write<T>();
    if (ratio == 0) return std::fill(kept.begin(), kept.end(), T(1));
    std::mt19937 random = context.random();
    const auto all = y.write<double>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      kept[i] = static_cast<T>(draw_uniform(random) >= ratio);
      all[i] = kept[i] != 0 ? all[i] / (1 - ratio) : 0;
    }
  });
  context.set_output(0, y);
  context.set_output(1, mask);
}

}  // namespace

void register_dropout(KernelRegistry& registry) {
  registry.add("Dropout", all_versions(), dropout, {.noise = noise::ordinary, .draws = Draws::in_training});
}

}  // namespace onnxkit::reference
