#pragma once

#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/picture/picture.h"
#include "onnxkit/value_file.h"

namespace onnxkit::inputs {

/// A decoded picture as the tensor that an input of the model wants: a batch of one in the layout and size of `options`, sizes that those leave open
/// from what the input declares, else the picture's own. Errors: input-type for an input that is no real or uint8 tensor with four axes (three
/// without a batch), input-shape for a number of channels other than 1 and 3, usage for mean or std of another number than the channels.
Result<Tensor> picture_tensor(const wire::Picture& picture, const ir::ValueInfo& input, const ImageOptions& options);

}  // namespace onnxkit::inputs
