// TensorFlow Lite: recognised, run by its worker.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

void register_tflite(Registry& registry);
void register_tflite(Registry& registry) {
  registry.add({.name = "tflite",
                .title = "a TensorFlow Lite model",
                .help = "tf2onnx converts it to ONNX; diff compares it, named *.tflite, with an ONNX model",
                .extensions = {".tflite"},
                .detect = [](const Source& source) { return source.has("TFL3", 4) ? Match::certain : Match::no; }});
}

}  // namespace onnxkit::formats
