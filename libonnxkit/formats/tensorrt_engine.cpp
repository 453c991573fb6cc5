// TensorRT: engines are not read, the worker runs them.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

void register_tensorrt_engine(Registry& registry);
void register_tensorrt_engine(Registry& registry) {
  registry.add({.name = "tensorrt-engine",
                .title = "a TensorRT engine",
                .extensions = {".engine"},
                .shared_extensions = {".plan"}});
}

}  // namespace onnxkit::formats
