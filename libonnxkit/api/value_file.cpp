#include "onnxkit/value_file.h"

#include "libonnxkit/inputs/files/value_file.h"

namespace onnxkit {

ValueFileKind kind_of_value_file(const std::filesystem::path& path) { return inputs::kind_of_value_file(path); }

Result<Value> read_input(const Model& model, std::string_view input, const std::filesystem::path& file,
                         const ImageOptions& image) {
  return inputs::read_input(model.ir(), input, file, image);
}

Result<Value> read_input_bytes(const Model& model, std::string_view input, std::string bytes,
                               const ImageOptions& image) {
  return inputs::read_input_bytes(model.ir(), input, std::move(bytes), image);
}

Result<std::vector<NamedValue>> read_inputs(const Model& model, const std::filesystem::path& path,
                                            std::uint64_t most_bytes) {
  return inputs::read_inputs(model.ir(), path, most_bytes);
}

Result<std::vector<std::vector<NamedValue>>> read_samples(const Model& model, const std::filesystem::path& archive,
                                                          std::uint64_t most_bytes) {
  return inputs::read_samples(model.ir(), archive, most_bytes);
}

Result<std::vector<NamedValue>> read_outputs(const Model& model, const std::filesystem::path& folder) {
  return inputs::read_outputs(model.ir(), folder);
}

Result<void> write_npz(std::span<const NamedValue> values, const std::filesystem::path& file) {
  return inputs::write_npz(values, file);
}

Result<std::string> npz_bytes(std::span<const NamedValue> values) { return inputs::npz_bytes(values); }

Result<void> write_folder(std::span<const NamedValue> values, const std::filesystem::path& folder) {
  return inputs::write_folder(values, folder);
}

}  // namespace onnxkit
