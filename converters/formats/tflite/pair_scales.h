#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// Scales for the two inputs of an operator on integers, with which real arithmetic gives what the runtime's kernel gives.
namespace onnxkit::tflite {

/// In the metadata of a DequantizeLinear of stored integers: the scale of the file, from which another was taken.
constexpr std::string_view given_scale_key = "tflite.scale";

enum class PairKernel : std::uint8_t { add, subtract, multiply };

/// How integers of 8 bits stand for real numbers.
struct Steps {
  float scale = 1;
  std::int64_t zero_point = 0;
};

struct PairOperator {
  PairKernel kernel = PairKernel::add;
  Steps left, right, result;
  std::int64_t least = -128, greatest = 127;  ///< integers of the type
};

struct PairScales {
  float left = 1, right = 1;
  bool give_all = true;  ///< no integers of the inputs give another result than the kernel's
};

/// The kernel rounds sums of multipliers with 21 bits, and products of float32, so that its integer is not the one next to the real result where
/// that lies within 1e-5 of a half. Scales a few units in the last place away keep every result on the kernel's side of its half, far enough for
/// float32 where there are such. `rights` are the integers that the right input may have. All of the left one are tried, so what is found holds for
/// every input. Without such scales they are those of the file.
PairScales pair_scales(const PairOperator& op, std::span<const std::int64_t> rights);

/// Whether XNNPACK's kernel computes it, which wants a ratio of scales within bounds.
bool has_kernel(const PairOperator& op);

}  // namespace onnxkit::tflite
