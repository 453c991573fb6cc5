// Caffe2: a folder of two networks, one that fills in the weights; run by its worker.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

Match detect_caffe2(const Source& source) {
  std::error_code status;
  return std::filesystem::exists(source.path / "init_net.pb", status) ? Match::certain : Match::no;
}

}  // namespace

void register_caffe2(Registry& registry);
void register_caffe2(Registry& registry) {
  registry.add({.name = "caffe2", .title = "a Caffe2 model", .is_folder = true, .detect = detect_caffe2});
}

}  // namespace onnxkit::formats
