#pragma once

#include "libonnxkit/cuda/libraries/cudnn_call.h"

namespace onnxkit::cuda {

/// A product of float16 or bfloat16 with the whole of an epilogue that cuBLASLt has in part only, as a GELU in its erf form. Error not-supported, with
/// the reason.
Result<CudnnWritten> write_product_graph(const plan::Step& step, const Preparation& preparation,
                                         std::shared_ptr<CudnnSession> session);

}  // namespace onnxkit::cuda
