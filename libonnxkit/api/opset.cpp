#include "onnxkit/opset.h"

#include <utility>

#include "converters/opset/model/change_opset.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/running/verify.h"

namespace onnxkit {

Result<OpsetReport> change_opset(Model& model, const OpsetOptions& options, std::optional<Model>* original) {
  auto changed = opset::change_opset(model.ir(), options);
  if (!changed) return changed.error();
  if (changed->model) {
    std::swap(model.ir(), *changed->model);
    std::optional<ir::Model>& before = changed->before ? changed->before : changed->model;
    if (original) original->emplace(std::make_unique<ir::Model>(*std::move(before)));
  }
  return std::move(changed->report);
}

Result<VerifyReport> verify_equal(const Model& before, const Model& after, const VerifyOptions& options) {
  return running::verify_equal(before, after, options);
}

}  // namespace onnxkit
