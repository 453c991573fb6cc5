#include "onnxkit/model.h"

#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/formats/frame/save.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"

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

std::vector<FormatInfo> known_formats() {
  std::vector<FormatInfo> all;
  for (const formats::Format& format : formats::registry().formats())
    if (!format.name.empty()) all.push_back(format.info());
  return all;
}

std::optional<FormatInfo> format_of_path(const std::filesystem::path& path) {
  const formats::Format* format = formats::registry().of_path(path);
  return format ? std::optional(format->info()) : std::nullopt;
}

Result<FormatInfo> output_format(const std::filesystem::path& path) {
  const auto format = formats::output_format(path, {});
  return format ? Result<FormatInfo>((*format)->info()) : format.error();
}

Result<Model> read_model(const std::filesystem::path& path, const ReadOptions& options, ReadReport* report) {
  const auto source = formats::open_source(path);
  if (!source) return source.error();
  ReadReport unused;
  return wrap(formats::load_model(*source, options, report ? *report : unused));
}

Result<Model> read_model_bytes(std::string bytes, std::string_view name, const ReadOptions& options,
                               ReadReport* report) {
  const formats::Source source{.path = name, .file = MappedFile::from_bytes(std::move(bytes))};
  ReadReport unused;
  auto model = wrap(formats::load_model(source, options, report ? *report : unused));
  if (model) model->ir().path.clear();
  return model;
}

Result<SaveReport> write_model(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  return formats::save_model(model.ir(), path, options);
}

Result<SaveReport> write_model(const Model& model, const ByteSink& sink, const SaveOptions& options) {
  return formats::save_model(model.ir(), sink, options);
}

}  // namespace onnxkit
