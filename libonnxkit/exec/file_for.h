#pragma once

#include <memory>

#include "libonnxkit/exec/backend.h"

namespace onnxkit::exec {

/// The source's model in a file, for backends that load files; shared with the sessions of the context. Errors: no-model, those of writing.
Result<std::shared_ptr<const ModelFile>> file_for(const ModelSource& source, const LoadOptions& options);

}  // namespace onnxkit::exec
