#pragma once

#include <filesystem>

#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/model.h"

namespace onnxkit::formats {

/// The format of this name; for an empty name the one that files named like `path` get. Fails with
/// unsupported-format, with what can be written.
Result<const Format*> output_format(const std::filesystem::path& path, const std::string& name);

/// As onnxkit::write_model.
Result<SaveReport> save_model(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options);
Result<SaveReport> save_model(const ir::Model& model, const ByteSink& sink, const SaveOptions& options);

}  // namespace onnxkit::formats
