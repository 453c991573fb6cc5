#pragma once

#include "libonnxkit/cpu/kernels/integer.h"
#include "libonnxkit/cpu/kernels/isa.h"

// What the callers of the integer kernels need of an instruction set.
namespace onnxkit::cpu {

/// Rows of numbers that are multiplied by panels of weights. A word of 32 bits holds as many numbers of a row, or of a column of weights, as one
/// instruction multiplies: four bytes or two numbers of 16 bits.
struct IntegerTask {
  const std::uint8_t* rows;
  std::int64_t row_bytes, count;
  std::int64_t first_row;  ///< of the result
  const std::int32_t* packed;
  std::int64_t words;  ///< of a row
  std::int64_t columns, first_panel, panels;
  std::int64_t out_stride;
};

struct IntegerIsa {
  Level level;
  std::int64_t lanes, panel_columns;
  std::int64_t numbers;  ///< in a word
  /// Windows of pixels, one row of `row_bytes` for each.
  void (*gather)(const IntegerConvolution& convolution, const std::uint8_t* in, std::int32_t zero, PixelRange pixels,
                 std::uint8_t* to, std::int64_t row_bytes);
  void (*multiply)(const IntegerTask& task, const IntegerResult& result);
  /// Packed are [taps][channels] words of one number.
  void (*depthwise)(const IntegerConvolution& convolution, const std::uint8_t* in, const std::uint8_t* padding,
                    const std::int32_t* packed, PixelRange pixels, const IntegerResult& result);
};

extern const IntegerIsa integer_isa_baseline;
#if defined(__x86_64__)
extern const IntegerIsa integer_isa_v3, integer_isa_v4, integer_isa_vnni;
#endif

}  // namespace onnxkit::cpu
