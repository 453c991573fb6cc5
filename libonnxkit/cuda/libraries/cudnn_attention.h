#pragma once

#include "libonnxkit/cuda/libraries/cudnn_call.h"

namespace onnxkit::cuda {

/// An attention of float16 or bfloat16 in the form that cuDNN's fused engines know: two products around the operations of a softmax in float32.
/// Error not-supported, with the reason.
Result<CudnnWritten> write_attention(const plan::Step& step, const Preparation& preparation,
                                     std::shared_ptr<CudnnSession> session);

}  // namespace onnxkit::cuda
