// Keras: zip (.keras) or HDF5 (.h5); known by their names, run by the worker of TensorFlow.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

void register_keras(Registry& registry);
void register_keras(Registry& registry) {
  registry.add({.name = "keras", .title = "a Keras model", .extensions = {".keras"}, .shared_extensions = {".h5"}});
}

}  // namespace onnxkit::formats
