#pragma once

#include "converters/opset/engine/step.h"

namespace onnxkit::opset {

/// Until opset 8 Constant holds real numbers only.
bool fits_old_constant(ElementType type);
/// What writes another tensor there: Casts of real ones, 64-bit numbers in two parts where float64 does not hold them. Refuses text.
void write_old_constant(Step& step, const ir::Tensor& tensor, ValueId result);

}  // namespace onnxkit::opset
