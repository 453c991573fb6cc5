// TensorFlow: SavedModel folders and frozen graphs; run by the worker.
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

Match detect_saved_model(const Source& source) {
  std::error_code status;
  return std::filesystem::exists(source.path / "saved_model.pb", status) ? Match::certain : Match::no;
}

}  // namespace

void register_tensorflow(Registry& registry);
void register_tensorflow(Registry& registry) {
  registry.add(
      {.name = "saved-model", .title = "a TensorFlow SavedModel", .is_folder = true, .detect = detect_saved_model});
  registry.add({.name = "frozen-graph", .title = "a frozen TensorFlow graph", .shared_extensions = {".pb"}});
}

}  // namespace onnxkit::formats
