#include "onnxkit/model.h"

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/load.h"
#include "libonnxkit/wire/save.h"

namespace onnxkit {
namespace {

Result<Model> wrap(Result<ir::Model> model) {
  if (!model) return std::move(model).error();
  return Model(std::make_unique<ir::Model>(*std::move(model)));
}

}  // namespace

Model::Model(std::unique_ptr<ir::Model> model) : model_(std::move(model)) {}
Model::Model(const Model& other) : model_(std::make_unique<ir::Model>(ir::clone(*other.model_))) {}
Model& Model::operator=(const Model& other) {
  if (this != &other) model_ = std::make_unique<ir::Model>(ir::clone(*other.model_));
  return *this;
}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::filesystem::path& Model::path() const { return model_->path; }
bool Model::has_graph() const { return model_->graph != nullptr; }

Result<Model> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  auto file = MappedFile::open(path);
  if (!file) return std::move(file).error();
  return wrap(wire::load_model(*std::move(file), path, options.format));
}

Result<Model> read_model_bytes(std::string bytes, std::string_view name, const ReadOptions& options) {
  auto model = wrap(wire::load_model(MappedFile::from_bytes(std::move(bytes)), name, options.format));
  if (model) model->ir().path.clear();
  return model;
}

Result<SaveReport> write_model(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  return wire::save_model(model.ir(), path, options);
}

Result<SaveReport> write_model(const Model& model, const ByteSink& sink, const SaveOptions& options) {
  return wire::save_model(model.ir(), sink, options);
}

}  // namespace onnxkit
