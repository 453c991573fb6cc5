#pragma once

#include "libonnxkit/formats/frame/source.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/model.h"

namespace onnxkit::formats {

/// The file or folder at `path`. Fails with cannot-read.
Result<Source> open_source(const std::filesystem::path& path);

/// Reads a model in the format that `options` name, else in the one that fits best. Model::path becomes the source's.
/// Errors: unsupported-format, and those of the format.
Result<ir::Model> load_model(const Source& source, const ReadOptions& options, ReadReport& report);

}  // namespace onnxkit::formats
