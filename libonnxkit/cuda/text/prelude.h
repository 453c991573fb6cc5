#pragma once

#include <string_view>

namespace onnxkit::cuda {

/// What stands before the kernels of a program: element types as they are stored, functions of each operation by number type, what the threads
/// of a block do together. Valid CUDA C++ for NVRTC without headers; with ONNXKIT_CUDA_HOST defined, valid C++ for a compiler of the host, which
/// finds CUDA's keywords, built-in variables and functions declared before it.
std::string_view prelude();

}  // namespace onnxkit::cuda
