// TensorFlow: folders of a SavedModel and frozen graphs. Its worker runs both.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "converters/formats/saved_model/graph_writer.h"
#include "converters/formats/saved_model/saved_model.h"
#include "converters/formats/saved_model/to_tensorflow.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/clone.h"

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
  return located(saved_model::read(source.path, options.signature, report.diagnostics, options.mapped), source);
}

Result<std::vector<std::string>> signatures(const Source& source) { return saved_model::signatures(source.path); }

Result<ir::Model> read_frozen_graph(const Source& source, const ReadOptions& options, ReadReport& report) {
  return located(saved_model::read_frozen(source.file, report.diagnostics, options.mapped), source);
}

/// Folders are named with a slash behind, and as TensorFlow Serving wants versions of a model, which are numbers.
bool is_name_of_folder(const std::filesystem::path& path) {
  if (!path.has_filename()) return !path.empty();
  std::error_code status;
  if (std::filesystem::exists(path, status) && !std::filesystem::is_directory(path, status)) return false;  // /dev/fd/3
  if (path.parent_path() == "/dev/fd") return false;
  const std::string name = path.filename().string();
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A folder under a hidden name beside its place, which is gone unless it was published.
class HiddenFolder {
 public:
  explicit HiddenFolder(std::filesystem::path place) : place_(std::move(place)) {
    if (!place_.has_filename()) place_ = place_.parent_path();
    hidden_ = place_.parent_path() / fmt::format(".{}.{}.tmp", place_.filename().string(), ::getpid());
  }
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;
  ~HiddenFolder() {
    std::error_code ignored;
    if (!is_published_) std::filesystem::remove_all(hidden_, ignored);
  }

  template <class Write>
  Result<void> add(const std::filesystem::path& name, Write write) const {
    std::error_code status;
    std::filesystem::create_directories((hidden_ / name).parent_path(), status);
    if (status) return fault(status);
    auto file = AtomicFile::create(hidden_ / name);
    if (!file) return std::move(file).error();
    const auto written = write([&](std::string_view bytes) { return file->write(bytes); });
    return written ? file->publish() : written;
  }

  /// Fails where there is a folder with content.
  Result<void> publish() {
    std::error_code status;
    std::filesystem::rename(hidden_, place_, status);
    if (status) return fault(status);
    is_published_ = true;
    return {};
  }

 private:
  Error fault(std::error_code status) const {
    Error error = make_error("cannot-write", status.message());
    error.diagnostic.location.file = place_.string();
    return error;
  }

  std::filesystem::path place_, hidden_;
  bool is_published_ = false;
};

Result<foreign::Model> to_program(ir::Model& model, const SaveOptions& options) {
  std::vector<Diagnostic> refusals;
  auto program = to_tensorflow::to_tensorflow(model, refusals, options.mapped);
  if (!program && options.refusals) *options.refusals = std::move(refusals);
  return program;
}

Result<void> try_saved_model(const ir::Model& model, const SaveOptions& options) {
  ir::Model copy = ir::clone(model);
  const auto program = to_program(copy, options);
  if (!program) return program.error();
  const auto files = saved_model::model_files(*program);
  return files ? Result<void>() : files.error();
}

Result<void> write_saved_model(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                               SaveReport&) {
  ir::Model copy = ir::clone(model);
  const auto program = to_program(copy, options);
  if (!program) return program.error();
  const auto files = saved_model::model_files(*program);
  if (!files) return files.error();
  HiddenFolder folder(path);
  auto done = folder.add("saved_model.pb", [&](const ByteSink& sink) { return files->model.write(sink); });
  if (done && !files->index.empty()) {
    done = folder.add("variables/variables.index", [&](const ByteSink& sink) { return sink(files->index); });
    if (!done) return done;
    done = folder.add("variables/variables.data-00000-of-00001", [&](const ByteSink& sink) {
      Result<void> status;
      for (std::size_t i = 0; status && i < files->data.size(); ++i)
        status = sink({reinterpret_cast<const char*>(files->data[i].data()), files->data[i].size()});
      return status;
    });
  }
  return done ? folder.publish() : done;
}

Result<void> write_graph(const ir::Model& model, const SaveOptions& options, const ByteSink& sink) {
  ir::Model copy = ir::clone(model);
  const auto program = to_program(copy, options);
  if (!program) return program.error();
  const auto graph = saved_model::frozen_graph(*program);
  return graph ? graph->write(sink) : graph.error();
}

Result<void> try_frozen_graph(const ir::Model& model, const SaveOptions& options) {
  return write_graph(model, options, [](std::string_view) { return Result<void>(); });
}

Result<void> write_frozen_graph(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                                SaveReport&) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  const auto written = write_graph(model, options, [&](std::string_view bytes) { return file->write(bytes); });
  return written ? file->publish() : written;
}

}  // namespace

void register_tensorflow(Registry& registry);
void register_tensorflow(Registry& registry) {
  registry.add({.name = "saved-model",
                .title = "a TensorFlow SavedModel",
                .is_folder = true,
                .claims = is_name_of_folder,
                .backend = "tensorflow",
                .is_channels_last = true,
                .detect = detect_saved_model,
                .read = read_saved_model,
                .write = write_saved_model,
                .try_write = try_saved_model,
                .written_operators = to_tensorflow::written_operators,
                .read_operators = saved_model::read_operators,
                .signatures = signatures});
  registry.add({.name = "frozen-graph",
                .title = "a frozen TensorFlow graph",
                .shared_extensions = {".pb"},
                .is_asked_for = true,
                .backend = "tensorflow",
                .is_channels_last = true,
                .detect = detect_frozen_graph,
                .read = read_frozen_graph,
                .write = write_frozen_graph,
                .try_write = try_frozen_graph,
                .written_operators = to_tensorflow::written_operators,
                .read_operators = saved_model::read_operators});
}

}  // namespace onnxkit::formats
