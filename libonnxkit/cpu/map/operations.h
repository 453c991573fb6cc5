#pragma once

#include <cstdint>

#include "libonnxkit/plan/expression.h"

// The loops of elementwise operations for one instruction set. operations.inc is compiled once for each.
namespace onnxkit::cpu {

/// to[i] = operation(a[i], b[i], c[i]) over `count` numbers of a lane. An operand with the stride 0 is one number for all.
using Operate = void(void* to, const void* a, const void* b, const void* c, std::int64_t count,
                     const std::int64_t* strides);

struct OperationTable {
  /// Null for what is not here: functions of kernels.h and of the C library.
  Operate* (*find)(plan::Operation operation, plan::Lane lane);
  /// x, or 0 for NaN.
  Operate* clear_nan[2];  ///< float32, float64
  /// Between bytes side by side and float32.
  void (*load_bytes)(float* to, const std::uint8_t* from, bool is_signed, std::int64_t count);
  void (*store_bytes)(std::uint8_t* to, const float* from, std::int64_t count);
  /// Between numbers of 16 bits side by side, rounded to nearest, ties to even, and float32.
  void (*load_float16)(float* to, const std::uint16_t* from, std::int64_t count);
  void (*store_float16)(std::uint16_t* to, const float* from, std::int64_t count);
  void (*load_bfloat16)(float* to, const std::uint16_t* from, std::int64_t count);
  void (*store_bfloat16)(std::uint16_t* to, const float* from, std::int64_t count);
};

extern const OperationTable operations_baseline;
#if defined(__x86_64__)
extern const OperationTable operations_v3, operations_v4;
#endif
/// Of the instruction set that kernels.h chooses.
const OperationTable& best_operations();

}  // namespace onnxkit::cpu
