// TensorFlow: folders of a SavedModel and frozen graphs, which are read, and run by its worker.
#include "converters/formats/saved_model/saved_model.h"
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

Match detect_saved_model(const Source& source) {
  std::error_code status;
  return std::filesystem::exists(source.path / "saved_model.pb", status) ? Match::certain : Match::no;
}

Match detect_frozen_graph(const Source& source) {
  return saved_model::is_graph_def(source.bytes()) ? Match::certain : Match::no;
}

/// Errors tell which file they are about.
Result<ir::Model> located(Result<ir::Model> model, const Source& source) {
  if (model) return model;
  Error error = std::move(model).error();
  if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = source.path.string();
  return error;
}

Result<ir::Model> read_saved_model(const Source& source, const ReadOptions& options, ReadReport& report) {
  return located(saved_model::read(source.path, options.signature, report.diagnostics), source);
}

Result<ir::Model> read_frozen_graph(const Source& source, const ReadOptions&, ReadReport& report) {
  return located(saved_model::read_frozen(source.file, report.diagnostics), source);
}

}  // namespace

void register_tensorflow(Registry& registry);
void register_tensorflow(Registry& registry) {
  registry.add({.name = "saved-model",
                .title = "a TensorFlow SavedModel",
                .is_folder = true,
                .backend = "tensorflow",
                .detect = detect_saved_model,
                .read = read_saved_model,
                .read_operators = saved_model::read_operators});
  registry.add({.name = "frozen-graph",
                .title = "a frozen TensorFlow graph",
                .shared_extensions = {".pb"},
                .backend = "tensorflow",
                .detect = detect_frozen_graph,
                .read = read_frozen_graph,
                .read_operators = saved_model::read_operators});
}

}  // namespace onnxkit::formats
