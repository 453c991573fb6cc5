#include "converters/legalize/legalize.h"

#include <algorithm>
#include <set>
#include <string>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "converters/opset/engine/driver.h"
#include "converters/opset/model/change_opset.h"
#include "converters/opset/model/old_faults.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::legalize {
namespace {

using Names = std::set<std::string, std::less<>>;

Names unwanted_operators(const ir::Model& model, const std::function<bool(std::string_view)>& is_unwanted) {
  Names names;
  for (const auto& scope : ir::graph_scopes(model))
    for (const ir::Node& node : scope->graph->nodes)
      if (ir::canonical_domain(node.domain.view()).empty() && is_unwanted(node.op_type.view()))
        names.emplace(node.op_type.view());
  return names;
}

/// The composed model when it is sound.
std::optional<ir::Model> composed(const ir::Model& model, const spec::OpTable& table,
                                  const std::function<bool(std::string_view)>& is_unwanted) {
  ir::Model copy = ir::clone(model);
  wire::ExternalData data(copy.path);
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  const opset::Conversion done = opset::compose(copy, table, is_unwanted, external);
  if (done.changes.empty() || !done.refusals.empty()) return std::nullopt;
  if (!opset::errors_of(copy, table, external).empty()) return std::nullopt;
  return copy;
}

}  // namespace

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

bool compose(ir::Model& model, const std::function<bool(std::string_view)>& is_unwanted) {
  const Names names = unwanted_operators(model, is_unwanted);
  if (names.empty()) return false;
  const spec::OpTable table;
  if (auto whole = composed(model, table, is_unwanted)) {
    model = *std::move(whole);
    return true;
  }
  bool any = false;
  for (const std::string& name : names) {
    auto one =
        names.size() == 1 ? std::nullopt : composed(model, table, [&](std::string_view op) { return op == name; });
    if (one) model = *std::move(one);
    any = any || one.has_value();
  }
  return any;
}

}  // namespace onnxkit::legalize
