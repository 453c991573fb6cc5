#pragma once

#include <cstdint>
#include <filesystem>

#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/model.h"

namespace onnxkit::formats {

/// The format of this name; for an empty name the one that files named like `path` get. Fails with
/// unsupported-format, with what can be written.
Result<const Format*> output_format(const std::filesystem::path& path, const std::string& name);

/// The longest message, in bytes, that protobuf's libraries parse.
constexpr std::uint64_t longest_message = 0x7fffffff;

/// As onnxkit::write_model. Of a longer binary file the weights move into a data file.
Result<SaveReport> save_model(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                              std::uint64_t protobuf_limit = longest_message);
Result<SaveReport> save_model(const ir::Model& model, const ByteSink& sink, const SaveOptions& options,
                              std::uint64_t protobuf_limit = longest_message);

}  // namespace onnxkit::formats
