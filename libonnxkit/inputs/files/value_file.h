#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/value_file.h"

// Each as the public function of its name.
namespace onnxkit::inputs {

ValueFileKind kind_of_value_file(const std::filesystem::path& path);
Result<Value> read_input(const ir::Model& model, std::string_view input, const std::filesystem::path& file,
                         const ImageOptions& image);
Result<Value> read_input_bytes(const ir::Model& model, std::string_view input, std::string bytes,
                               const ImageOptions& image);
Result<std::vector<NamedValue>> read_inputs(const ir::Model& model, const std::filesystem::path& path,
                                            std::uint64_t most_bytes = 0);
Result<std::vector<std::vector<NamedValue>>> read_samples(const ir::Model& model, const std::filesystem::path& archive,
                                                          std::uint64_t most_bytes = 0);
Result<std::vector<NamedValue>> read_outputs(const ir::Model& model, const std::filesystem::path& folder);
Result<void> write_npz(std::span<const NamedValue> values, const std::filesystem::path& file);
Result<std::string> npz_bytes(std::span<const NamedValue> values);
Result<void> write_folder(std::span<const NamedValue> values, const std::filesystem::path& folder);

}  // namespace onnxkit::inputs
