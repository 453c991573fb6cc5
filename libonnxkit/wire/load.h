#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/model.h"

namespace onnxkit::wire {

/// The form that a file of this name has by convention; nullopt when the name says nothing.
std::optional<FileFormat> format_of_name(const std::filesystem::path& path);

/// Reads a model in any form; `automatic` goes by name and content. `path` becomes Model::path and is what errors name.
Result<ir::Model> load_model(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path,
                             FileFormat format = FileFormat::automatic);

}  // namespace onnxkit::wire
