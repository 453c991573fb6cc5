// TensorFlow Lite: read, written, and run by its worker.
#include "converters/formats/tflite/tflite.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

Match detect_tflite(const Source& source) { return source.has("TFL3", 4) ? Match::certain : Match::no; }

Result<ir::Model> read_tflite(const Source& source, const ReadOptions& options, ReadReport& report) {
  auto model = tflite::read(source.file, report.diagnostics, options.mapped);
  if (model) return model;
  Error error = std::move(model).error();
  error.diagnostic.location.file = source.path.string();
  return error;
}

Result<void> write_to(const ByteSink& sink, const ir::Model& model, const SaveOptions& options) {
  std::vector<Diagnostic> refusals;
  auto written = tflite::write(model, sink, refusals, options.mapped);
  if (!written && options.refusals) *options.refusals = std::move(refusals);
  return written;
}

Result<void> write_tflite(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                          SaveReport&) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  const auto written = write_to([&](std::string_view bytes) { return file->write(bytes); }, model, options);
  return written ? file->publish() : written;
}

Result<void> try_tflite(const ir::Model& model, const SaveOptions& options) {
  return write_to([](std::string_view) { return Result<void>(); }, model, options);
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
                .write = write_tflite,
                .try_write = try_tflite,
                .written_operators = tflite::written_operators,
                .read_operators = tflite::read_operators});
}

}  // namespace onnxkit::formats
