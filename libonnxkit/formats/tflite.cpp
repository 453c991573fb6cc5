// TensorFlow Lite: read, written, and run by its worker.
#include "converters/formats/tflite/tflite.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

Match detect_tflite(const Source& source) { return source.has("TFL3", 4) ? Match::certain : Match::no; }

Result<ir::Model> read_tflite(const Source& source, const ReadOptions&, ReadReport& report) {
  auto model = tflite::read(source.file, report.diagnostics);
  if (model) return model;
  Error error = std::move(model).error();
  error.diagnostic.location.file = source.path.string();
  return error;
}

Result<void> write_tflite(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                          SaveReport&) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  std::vector<Diagnostic> refusals;
  const auto written = tflite::write(
      model, [&](std::string_view bytes) { return file->write(bytes); }, refusals);
  if (!written) {
    if (options.refusals) *options.refusals = std::move(refusals);
    return written;
  }
  return file->publish();
}

}  // namespace

void register_tflite(Registry& registry);
void register_tflite(Registry& registry) {
  registry.add({.name = "tflite",
                .title = "a TensorFlow Lite model",
                .extensions = {".tflite"},
                .backend = "tflite",
                .is_channels_last = true,
                .detect = detect_tflite,
                .read = read_tflite,
                .write = write_tflite});
}

}  // namespace onnxkit::formats
