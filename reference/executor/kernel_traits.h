#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/noise/noise_rule.h"

namespace onnxkit::reference {

class Tensor;
struct DerivativeStep;
/// Derivatives by the inputs of a node, from that by its output (kernels/derivatives.h).
using Derivative = std::vector<Tensor> (*)(const DerivativeStep& step);

/// How an operator takes part in the arithmetic of sizes (shape_arithmetic.h).
enum class SizeRole : std::uint8_t {
  none,      ///< its results are data, as the positions of Range and their sines are
  constant,  ///< its result is part of the model
  source,    ///< its result is a size
  step,      ///< computes sizes from sizes and constants
};

/// Whether an operator draws random numbers.
enum class Draws : std::uint8_t { never, in_training, always };

/// What is known of an operator beyond its results. Registered with its kernel.
struct KernelTraits {
  /// What it rounds inside; every kernel that gives reals states it.
  std::optional<NoiseRule> noise = std::nullopt;
  /// For Gradient; null when it cannot be differentiated.
  Derivative derivative = nullptr;
  SizeRole sizes = SizeRole::none;
  Draws draws = Draws::never;
  /// Its presence says that the model computes on quantized numbers.
  bool is_quantizing = false;
  /// Whether the node lets a runtime round its first input to integers of 8 bits, by blocks; null: none does.
  bool (*may_round_to_int8)(const ir::Node& node) = nullptr;
};

}  // namespace onnxkit::reference
