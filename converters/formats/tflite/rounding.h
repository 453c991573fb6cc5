#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "converters/formats/tflite/lower.h"

// Where kernels of the runtime that compute in integers do not give the integer next to the real result.
namespace onnxkit::tflite {

/// The least and the greatest integer of a type of 8 or 16 bits.
std::optional<std::pair<std::int64_t, std::int64_t>> integer_range(ElementType elem);

/// How an argument is quantized, when it and the result have one scale each and 8 bits; null otherwise.
const Quantization* quantized_bytes(Call& call, std::string_view name);

/// What HARD_SWISH gives for each integer from the least on. It computes with 16 bits, so that one or two of 256 may be off by a step.
std::vector<std::int64_t> hard_swish_table(const Quantization& from, const Quantization& to, ElementType elem);
/// What the nearest integers would be.
std::vector<std::int64_t> nearest_hard_swish(const Quantization& from, const Quantization& to, ElementType elem);

/// Rounds to multiples of `step`.
Val on_grid(Call& call, Val x, double step);

/// A product that the kernels for integers bring to the result's steps by rounding twice: to a fraction of a step, then to the step, halves away
/// from zero.
Val rounded_twice(Call& call, Val product, const Quantization& left, const Quantization& right);

}  // namespace onnxkit::tflite
