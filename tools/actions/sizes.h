#pragma once

#include "onnxkit/dims.h"

namespace onnxkit::tools {

/// The model for what is said of the sizes of its inputs, with the declared shapes that follow. Errors: as of declare_dims, and unknown-dimension.
Result<void> fix_sizes(Model& model, const DimSettings& dims);

}  // namespace onnxkit::tools
