#pragma once

#include <memory>

#include "converters/containers/stored_tensors.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/result.h"

namespace onnxkit::containers {

/// Whether the content begins like a file of safetensors.
bool is_safetensors(const MappedFile& file);

/// The tensors of such a file, in place. Error codes: malformed-safetensors, json-syntax, nesting-depth, not-supported (a type that ONNX lacks).
Result<StoredTensors> read_safetensors(const std::shared_ptr<const MappedFile>& file);

}  // namespace onnxkit::containers
