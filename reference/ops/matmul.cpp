// MatMul: numpy's matmul, stacks of matrices broadcast.
#include "reference/walks/axes.h"
#include "reference/walks/contract.h"

namespace onnxkit::reference {
namespace {

void matmul(KernelContext& context) {
  context.set_output(0, matrix_product(context, context.input(0), context.input(1)));
}

}  // namespace

void register_matmul(KernelRegistry& registry) { registry.add("MatMul", all_versions(), matmul); }

}  // namespace onnxkit::reference
