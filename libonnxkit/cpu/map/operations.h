#pragma once

#include <cstdint>

#include "libonnxkit/plan/expression.h"

// The loops of elementwise operations for one instruction set. operations.inc is compiled once for each.
namespace onnxkit::cpu {

/// How numbers are held between operations: in their lane, or as truth values of a byte each, which are 0 or 1.
enum class Held : std::uint8_t { f32, f64, i64, truth };

/// to[i] = operation(a[i], b[i], c[i]) over `count` numbers. An operand with the stride 0 is one number for all, others have 1; if all have 0, `count` is 1.
using Operate = void(void* to, const void* a, const void* b, const void* c, std::int64_t count,
                     const std::int64_t* strides);
/// The same where it is right for all `count` numbers; otherwise false, and nothing is written.
using TryOperate = bool(void* to, const void* a, const void* b, std::int64_t count, const std::int64_t* strides);
/// Between stored elements side by side and numbers.
using Convert = void(void* to, const void* from, std::int64_t count);

struct OperationTable {
  /// Null for what is not here: functions of kernels.h and of the C library. Comparisons go by their operands, choices by what is chosen; the result of
  /// the former and the first operand of the latter are truth values, as are all of logical operations.
  Operate* (*find)(plan::Operation operation, Held held);
  /// second(first(a, b), c) of float32, rounded in between; null for pairs that have no loop.
  Operate* (*find_pair)(plan::Operation first, plan::Operation second);
  /// Sines, cosines and remainders of float32.
  TryOperate* (*find_limited)(plan::Operation operation);
  Operate* (*convert)(Held from, Held to);
  /// x, or 0 for NaN.
  Operate* clear_nan[2];  ///< float32, float64
  /// a / b of float32, rounded to a whole number, ties to even, or 0 for NaN.
  Operate* rounded_quotient;
  Operate* rounded_quotient_plus;  ///< that, plus c
  /// Null for types that are held in another way. Of bytes as float32 only those that fit them are stored; reals are rounded to nearest, ties to even;
  /// integers wrap.
  Convert* (*load)(ElementType type, Held held);
  Convert* (*store)(ElementType type, Held held);
  /// float32 without NaN to int8 or uint8, those beyond as the nearest.
  Convert* (*store_saturated)(ElementType type);
};

extern const OperationTable operations_baseline;
#if defined(__x86_64__)
extern const OperationTable operations_v3, operations_v4;
#endif
/// Of the instruction set that level.h chooses.
const OperationTable& best_operations();

}  // namespace onnxkit::cpu
