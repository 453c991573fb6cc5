// Col2Im: being written.
#include "reference/kernel.h"

namespace onnxkit::reference {

void register_col2im(KernelRegistry&) {}

}  // namespace onnxkit::reference
