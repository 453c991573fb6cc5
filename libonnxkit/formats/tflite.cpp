// TensorFlow Lite: read, and run by its worker.
#include "converters/formats/tflite/tflite.h"
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

}  // namespace

void register_tflite(Registry& registry);
void register_tflite(Registry& registry) {
  registry.add({.name = "tflite",
                .title = "a TensorFlow Lite model",
                .extensions = {".tflite"},
                .backend = "tflite",
                .detect = detect_tflite,
                .read = read_tflite});
}

}  // namespace onnxkit::formats
