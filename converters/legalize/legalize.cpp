#include "converters/legalize/legalize.h"

#include "converters/opset/model/change_opset.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::legalize {

Result<void> bring_to(ir::Model& model, std::int64_t opset, const foreign::Writers&,
                      std::vector<Diagnostic>& findings) {
  if (ir::opset_of(model.opset_imports, "") == opset) return {};
  OpsetOptions options;
  options.opsets = {{"", opset}};
  auto changed = opset::change_opset(model, options);
  if (!changed) return std::move(changed).error();
  if (!changed->model) {
    for (OpsetRefusal& refusal : changed->report.refusals) findings.push_back(std::move(refusal));
    return make_error("unsupported-operator",
                      "the model cannot be brought to opset " + std::to_string(opset) + ", which is written from");
  }
  model = *std::move(changed->model);
  return {};
}

}  // namespace onnxkit::legalize
