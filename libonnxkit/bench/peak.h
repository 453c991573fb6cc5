#pragma once

#include <cstdint>

// Compiled for several instruction sets: a header with inline functions here would give the linker versions that not every machine can run.
namespace onnxkit::benching {

/// Multiplies and adds in registers, `rounds` times; what one round does is left in `operations`. The result is a sum of all that was computed.
using PeakKernel = float (*)(std::int64_t rounds, float factor, std::int64_t& operations);
float peak_baseline(std::int64_t rounds, float factor, std::int64_t& operations);
#if defined(__x86_64__)
float peak_v3(std::int64_t rounds, float factor, std::int64_t& operations);
float peak_v4(std::int64_t rounds, float factor, std::int64_t& operations);
#endif

}  // namespace onnxkit::benching
