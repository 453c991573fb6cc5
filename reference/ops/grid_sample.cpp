// GridSample: being written.
#include "reference/kernel.h"

namespace onnxkit::reference {

void register_grid_sample(KernelRegistry&) {}

}  // namespace onnxkit::reference
