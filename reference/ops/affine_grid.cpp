// AffineGrid: being written.
#include "reference/kernel.h"

namespace onnxkit::reference {

void register_affine_grid(KernelRegistry&) {}

}  // namespace onnxkit::reference
