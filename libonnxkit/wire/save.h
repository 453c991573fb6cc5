#pragma once

#include <filesystem>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnxkit/model.h"

namespace onnxkit::wire {

/// As onnxkit::write_model.
Result<SaveReport> save_model(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options);
Result<SaveReport> save_model(const ir::Model& model, const ByteSink& sink, const SaveOptions& options);

}  // namespace onnxkit::wire
