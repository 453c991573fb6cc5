#pragma once

#include <cstdint>
#include <functional>

#include "onnxkit/element_type.h"

// What the stand-ins for NVIDIA's libraries share: numbers in memory, and work on a stream.
namespace onnxkit::cuda_libraries {

/// One element as a double; of floating types of 8, 16, 32 and 64 bits.
double element(ElementType type, const void* first, std::int64_t at);
/// The way back, rounded as the type is.
void set_element(ElementType type, void* first, std::int64_t at, double value);
std::int64_t width_of(ElementType type);

/// A float32 as tensor cores read it in TF32.
double as_tf32(double value);

/// Runs it at once without a stream; else the driver does, by cuLaunchHostFunc, now or each time a captured graph is launched. False when no driver
/// is loaded or it refuses.
bool run_on(void* stream, std::function<void()> work);

bool is_aligned(const void* pointer, std::uint64_t bytes);

}  // namespace onnxkit::cuda_libraries
