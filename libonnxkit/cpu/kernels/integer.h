#pragma once

#include <cstdint>
#include <vector>

#include "libonnxkit/cpu/kernels/kernels.h"

// Convolutions of 8-bit integers with exact sums of 32 bits. Products are convolutions of one tap whose pixels are rows. As the float32 kernels these are
// compiled once for each instruction set.
namespace onnxkit::cpu {

/// The kernels for one instruction set.
struct IntegerIsa;
const IntegerIsa& best_integer_isa();
/// Those that this machine can run, best first.
std::vector<const IntegerIsa*> usable_integer_isas();
const char* integer_isa_name(const IntegerIsa& isa);

struct IntegerConvolution {
  Window window;  ///< strides count bytes
  std::int64_t out_channels = 1;
  bool is_depthwise = false;  ///< one input channel for each output channel, else one group
  bool is_signed = false;     ///< the image; otherwise its bytes are unsigned
};

/// Depth up to which no sum leaves 32 bits.
constexpr std::int64_t most_integer_depth = (std::int64_t{1} << 31) / (255 * 128) - 1;

/// Weights [out_channels][channels or 1][taps] without their zero points.
std::int64_t packed_integer_words(const IntegerConvolution& convolution, const IntegerIsa& isa = best_integer_isa());
void pack_integers(ThreadPool& threads, std::int32_t* to, const std::int8_t* weights,
                   const IntegerConvolution& convolution, const IntegerIsa& isa = best_integer_isa());

/// What becomes of sums. `addend` is for each output channel what is added: the bias, and what the zero points come to.
struct IntegerResult {
  const std::int32_t* addend = nullptr;
  std::int32_t* sums = nullptr;     ///< where the sums go; or none
  std::uint8_t* bytes = nullptr;    ///< where round(sum * factor / divisor) + zero goes, kept from lower to upper
  const double* factors = nullptr;  ///< for each output channel
  double divisor = 1;
  std::int32_t zero = 0, lower = 0, upper = 0;
  const float* quotients = nullptr;  ///< factor / divisor, for each output channel
};
/// What the zero point is for padding and addends: signed images may be held unsigned.
std::int32_t held_zero_point(const IntegerConvolution& convolution, std::int32_t zero,
                             const IntegerIsa& isa = best_integer_isa());
/// Padding counts as the zero point. The result does not depend on the number of threads.
void convolve_integers(ThreadPool& threads, const IntegerConvolution& convolution, const std::uint8_t* in,
                       std::int32_t held_zero, const std::int32_t* packed, const IntegerResult& result,
                       const IntegerIsa& isa = best_integer_isa());

}  // namespace onnxkit::cpu
