#include "libonnxkit/formats/frame/load.h"

#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

Result<Source> open_source(const std::filesystem::path& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) return Source{.path = path, .file = nullptr};
  auto file = MappedFile::open(path);
  if (!file) return std::move(file).error();
  return Source{.path = path, .file = *std::move(file)};
}

Result<ir::Model> load_model(const Source& source, const ReadOptions& options, ReadReport& report) {
  const Format* format = options.format.empty() ? registry().to_read(source) : registry().find(options.format);
  if (!format || !format->read) {
    Error error = make_error("unsupported-format", quote(options.format) + " is not a format that can be read");
    error.diagnostic.expected = registry().readable();
    return error;
  }
  if (source.is_folder() && !format->is_folder) return MappedFile::open(source.path).error();
  report.format = format->name;
  auto model = format->read(source, options, report);
  if (model) model->path = source.path;
  return model;
}

}  // namespace onnxkit::formats
