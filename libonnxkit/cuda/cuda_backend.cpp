#include "libonnxkit/exec/registry.h"

namespace onnxkit::cuda {

void register_cuda_backend(exec::BackendRegistry& registry);
void register_cuda_backend(exec::BackendRegistry&) {}

}  // namespace onnxkit::cuda
