#pragma once

#include <cstdint>
#include <memory>

#include "onnxkit/result.h"

namespace onnxkit::exec {

/// Element (r, c) is at data[r * row_stride + c * column_stride].
template <class T>
struct StridedMatrix {
  T* data;
  std::int64_t rows, columns, row_stride, column_stride;
  bool operator==(const StridedMatrix&) const = default;
};

/// Multiplies large matrices of doubles elsewhere than on the threads of this process, on a GPU for example: how a backend lends its device to the
/// reference, whose other work stays where it is. Thread-safe.
class ProductDevice {
 public:
  virtual ~ProductDevice() = default;
  /// c = a b, or c += a b, with products and sums in double. False when these are better multiplied by the caller; c is unchanged then. `token`
  /// names the numbers of b: under the same token the same matrix has the same numbers. Null: they may have changed. Errors: those of the device.
  virtual Result<bool> multiply(const StridedMatrix<const double>& a, const StridedMatrix<const double>& b,
                                const StridedMatrix<double>& c, bool accumulate,
                                const std::shared_ptr<const void>& token) = 0;
};

}  // namespace onnxkit::exec
