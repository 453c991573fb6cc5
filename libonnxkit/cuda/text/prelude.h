#pragma once

#include <string_view>

namespace onnxkit::cuda {

/// What stands before the kernels of a program: conversions of narrow floats, names of functions by number type. Valid CUDA C++ for NVRTC without
/// headers; with ONNXKIT_CUDA_HOST defined, valid C++ for a compiler of the host, which finds CUDA's keywords and built-in variables declared
/// before it.
std::string_view prelude();

}  // namespace onnxkit::cuda
