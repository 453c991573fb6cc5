// Resize, Upsample: being written.
#include "reference/kernel.h"

namespace onnxkit::reference {

void register_resize(KernelRegistry&) {}

}  // namespace onnxkit::reference
