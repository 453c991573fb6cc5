// Attention operators of com.microsoft: being written.
#include "reference/kernel.h"

namespace onnxkit::reference {

void register_microsoft_attention(KernelRegistry&) {}

}  // namespace onnxkit::reference
