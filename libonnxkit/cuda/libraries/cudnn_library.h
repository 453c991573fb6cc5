#pragma once

#include <string_view>

#include "libonnxkit/base/system/shared_library.h"
#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// Convolutions by cuDNN, for the current context. Errors: missing-module, not-supported, device-failed.
Result<std::unique_ptr<Library>> open_cudnn(const LibraryPlaces& places);

/// For a device that is not there, by cuDNN's description of it in JSON: steps are prepared, calls fail. From cuDNN 9.8 on.
Result<std::unique_ptr<Library>> open_cudnn_for(const LibraryPlaces& places, std::string_view device);

}  // namespace onnxkit::cuda
