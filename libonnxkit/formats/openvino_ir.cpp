// OpenVINO: XML beside a .bin of weights; known by its name, run by the worker.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

void register_openvino_ir(Registry& registry);
void register_openvino_ir(Registry& registry) {
  registry.add({.name = "openvino-ir", .title = "an OpenVINO model", .shared_extensions = {".xml"}});
}

}  // namespace onnxkit::formats
