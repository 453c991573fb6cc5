// Where: numpy's where, all three inputs broadcast.
#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"

namespace onnxkit::reference {
namespace {

void where(KernelContext& context) {
  const Tensor& condition = context.input(0);
  const Tensor& yes = context.input(1);
  const Tensor& no = context.input(2);
  require(yes.type() == no.type(), "X and Y have different element types");
  context.set_output(0, dispatch_all(yes.domain(), [&]<class T>(std::type_identity<T>) {
                       return map<bool, T, T, T>(context, condition, yes, no, yes.type(),
                                                 [](bool c, const T& x, const T& y) { return c ? x : y; });
                     }));
}

}  // namespace

void register_where(KernelRegistry& registry) {
  registry.add("Where", all_versions(), where, {.noise = noise::exact, .derivative = derivative::where});
}

}  // namespace onnxkit::reference
