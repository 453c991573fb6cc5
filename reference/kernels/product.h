#pragma once

#include "libonnxkit/exec/product_device.h"
#include "reference/kernels/gemm.h"

namespace onnxkit::reference {

/// c = a * b, or c += a * b, on the device where there is one that takes the product, else as gemm. Fault: an error of the device.
void multiply_doubles(ThreadPool& threads, exec::ProductDevice* device, MatrixView<const double> a,
                      MatrixView<const double> b, MatrixView<double> c, bool accumulate, const Poll& poll);

}  // namespace onnxkit::reference
