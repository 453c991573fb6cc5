#pragma once

#include "libonnxkit/base/system/shared_library.h"
#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// Products by cuBLASLt, for the current context. Errors: missing-module, not-supported, device.
Result<std::unique_ptr<Library>> open_cublaslt(const LibraryPlaces& places, int cuda_version);

}  // namespace onnxkit::cuda
