#pragma once

#include "libonnxkit/ir/model.h"
#include "onnxkit/extract.h"

namespace onnxkit::edit {

/// As declared in the public header.
Result<Extraction> extract(const ir::Model& model, const ExtractOptions& options);

}  // namespace onnxkit::edit
