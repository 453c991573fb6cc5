// PyTorch: files of torch.export and TorchScript, both zip archives; known by their names, run by the worker.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {

void register_torch(Registry& registry);
void register_torch(Registry& registry) {
  registry.add({.name = "torch-export", .title = "a model of torch.export", .extensions = {".pt2"}});
  registry.add({.name = "torchscript", .title = "a TorchScript model", .extensions = {".pt", ".pth"}});
}

}  // namespace onnxkit::formats
