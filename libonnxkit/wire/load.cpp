#include "libonnxkit/wire/load.h"

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/guess.h"
#include "libonnxkit/wire/json.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::wire {
namespace {

FileFormat format_of_content(std::string_view bytes) {
  if (looks_like_text_syntax(bytes)) return FileFormat::text;
  return looks_like_json(bytes) ? FileFormat::json : FileFormat::binary;
}

Result<ir::Model> parse(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path, FileFormat format) {
  if (format == FileFormat::text) return parse_text(file->view(), path.string());
  if (format == FileFormat::json) return parse_json(file->view(), path.string());
  return read_binary(std::move(file), path);
}

}  // namespace

std::optional<FileFormat> format_of_name(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".onnxtxt") return FileFormat::text;
  if (extension == ".json" || extension == ".onnxjson") return FileFormat::json;
  return std::nullopt;
}

Result<ir::Model> load_model(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path,
                             FileFormat format) {
  const std::string_view bytes = file->view();
  if (format == FileFormat::automatic && !bytes.empty()) {
    format = format_of_name(path).value_or(format_of_content(bytes));
  }
  auto model = parse(std::move(file), path, format);
  if (model) model->path = path;
  return model;
}

}  // namespace onnxkit::wire
