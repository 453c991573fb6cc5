#include "reference/executor/reference_model.h"

#include "libonnxkit/spec/load_table.h"
#include "reference/executor/backend.h"

namespace onnxkit::reference {

Result<std::unique_ptr<ReferenceModel>> ReferenceModel::make(const ir::Model& model,
                                                             const std::vector<std::filesystem::path>& schemas,
                                                             bool allow_outside_data) {
  auto table = spec::load_table(schemas);
  if (!table) return table.error();
  return std::unique_ptr<ReferenceModel>(new ReferenceModel(model, *std::move(table), allow_outside_data));
}

ReferenceModel::ReferenceModel(const ir::Model& model, spec::OpTable table, bool allow_outside_data)
    : model_(model),
      table_(std::move(table)),
      external_(model.path, {.allow_outside = allow_outside_data, .verify_checksums = false}) {}

exec::PrepareOptions ReferenceModel::prepare_options() const {
  return {.external_bytes = [this](const ir::Tensor& tensor) { return external_.bytes(tensor); }};
}

Result<std::unique_ptr<exec::Session>> ReferenceModel::session(std::uint64_t kept_bytes) const {
  exec::PrepareOptions options = prepare_options();
  options.kept_bytes = kept_bytes;
  return reference::ReferenceBackend().prepare(model_, table_, options);
}

Result<std::unique_ptr<exec::Ensemble>> ReferenceModel::ensemble() const {
  return reference::ReferenceBackend().prepare_ensemble(model_, table_, prepare_options());
}

}  // namespace onnxkit::reference
