#pragma once

#include "libonnxkit/exec/product_device.h"
#include "reference/kernels/gemm.h"
#include "reference/kernels/shared_factors.h"

namespace onnxkit::reference {

/// What multiplies large matrices.
struct Multiplier {
  ThreadPool& threads;
  exec::ProductDevice* device = nullptr;  ///< null: the threads multiply all
  SharedFactors* shared = nullptr;        ///< null where no other run has the second factor
  Poll poll = {};
};

/// c = a * b, or c += a * b, on the device where there is one that takes the product, else as gemm. Fault: an error of the device.
void multiply_doubles(const Multiplier& with, MatrixView<const double> a, MatrixView<const double> b,
                      MatrixView<double> c, bool accumulate);

}  // namespace onnxkit::reference
