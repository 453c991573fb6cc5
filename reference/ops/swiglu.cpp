// SwiGLU: Swish(A) * B, element by element without broadcasting.
#include <cmath>

#include "reference/kernels/broadcast.h"

namespace onnxkit::reference {
namespace {

void swiglu(KernelContext& context) {
  const Tensor& gate = context.input(0);
  const Tensor& linear = context.input(1);
  require(gate.dims() == linear.dims(), "A and B have different shapes");
  context.set_output(0, map<double, double, double>(context, gate, linear, gate.type(),
                                                    [alpha = double{context.real("alpha", 1)}](double a, double b) {
                                                      return a / (1 + std::exp(-alpha * a)) * b;
                                                    }));
}

}  // namespace

void register_swiglu(KernelRegistry& registry) {
  registry.add("SwiGLU", all_versions(), swiglu, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
