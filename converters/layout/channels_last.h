#pragma once

#include <string_view>

#include "libonnxkit/ir/model.h"

namespace onnxkit::layout {

/// The domain of operators that compute on [N, spatial..., C]. They are model-local functions, so the model stays one that every tool of ONNX
/// understands: "Conv2D" transposes its first input to channels first, applies Conv, and transposes the result back. Other inputs (weights,
/// scales, sizes) and attributes are those of the ordinary operator.
inline constexpr std::string_view channels_last_domain = "onnxkit.channels_last";

/// Whether frameworks compute this operator of ai.onnx with channels last.
bool is_layout_operator(std::string_view op);

/// Puts every operator that frameworks compute with channels last, as Conv, pooling and Resize, between two Transposes, with a function of
/// channels_last_domain in its place. `reduce_transposes` then removes the Transposes that other nodes can do without. Operators in functions
/// and those of which the rank is unknown stay as they are.
void to_channels_last(ir::Model& model);

}  // namespace onnxkit::layout
