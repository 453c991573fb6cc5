#pragma once

#include <cstdint>

#include "libonnxkit/plan/expression.h"

// Between stored elements and the lanes that they are computed in.
namespace onnxkit::cpu {

/// to[i] = what is stored at from + i * stride elements, in the lane of its type.
void load_elements(void* to, const std::byte* from, ElementType type, std::int64_t stride, std::int64_t count);
/// The way back: reals are rounded, integers wrap.
void store_elements(std::byte* to, ElementType type, std::int64_t stride, const void* from, std::int64_t count);

}  // namespace onnxkit::cpu
