#include "converters/legalize/legalize.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "converters/legalize/contrib_bodies.h"
#include "converters/legalize/inline_functions.h"
#include "converters/opset/engine/driver.h"
#include "converters/opset/model/change_opset.h"
#include "converters/opset/model/old_faults.h"
#include "libonnxkit/ir/called_functions.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/function_index.h"
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

/// Whether nodes of the function mean in the model what they mean in the function.
bool agrees(const ir::Function& function, const ir::Model& model) {
  return std::all_of(function.opset_imports.begin(), function.opset_imports.end(), [&](const ir::OpsetImport& import) {
    const auto version = ir::opset_of(model.opset_imports, ir::canonical_domain(import.domain));
    return !version || version == import.version;
  });
}

void drop_uncalled(ir::Model& model) {
  if (!model.graph) return;
  std::vector<bool> is_called = ir::called_functions(model, *model.graph);
  for (const ir::TrainingInfo& training : model.training_infos)
    for (const ir::Graph* graph : {training.initialization.get(), training.algorithm.get()}) {
      const std::vector<bool> more = graph ? ir::called_functions(model, *graph) : std::vector<bool>(is_called.size());
      for (std::size_t i = 0; i < is_called.size(); ++i) is_called[i] = is_called[i] || more[i];
    }
  std::size_t place = 0;
  std::erase_if(model.functions, [&](const ir::Function&) { return !is_called[place++]; });
}

Result<void> inline_functions(ir::Model& model, const foreign::Writers& writers) {
  if (model.functions.empty()) return {};
  const spec::FunctionIndex functions(model);
  auto inlined = inline_bodies(model, [&](const ir::Node& node) {
    const ir::Function* function = functions.find(node);
    return function && !writers.find(ir::qualified_op(node)) && agrees(*function, model) ? function : nullptr;
  });
  if (inlined) drop_uncalled(model);
  return inlined;
}

Result<void> change_opset(ir::Model& model, std::int64_t opset, std::vector<Diagnostic>& findings) {
  const bool is_there = ir::opset_of(model.opset_imports, "") == opset &&
                        std::all_of(model.functions.begin(), model.functions.end(), [&](const ir::Function& function) {
                          return ir::opset_of(function.opset_imports, "").value_or(opset) == opset;
                        });
  if (is_there) return {};
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

bool has_contrib_operators(const ir::Model& model, const foreign::Writers& writers) {
  for (const auto& scope : ir::graph_scopes(model))
    for (const ir::Node& node : scope->graph->nodes)
      if (node.domain.view() == contrib_domain && !writers.find(ir::qualified_op(node))) return true;
  return false;
}

/// Operators of com.microsoft by those of ai.onnx.
Result<void> write_contrib_operators(ir::Model& model, const foreign::Writers& writers) {
  ContribBodies bodies;
  auto inlined = inline_bodies(
      model, [&](const ir::Node& node) { return writers.find(ir::qualified_op(node)) ? nullptr : bodies.find(node); });
  bodies.keep_text_in(model);
  return inlined;
}

/// Mappings rely on what `check` proves: ranks, types, attributes.
Result<void> refuse_unsound(const ir::Model& model, std::vector<Diagnostic>& findings) {
  wire::ExternalData data(model.path);
  const ir::ExternalBytes external = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  std::vector<Diagnostic> errors = opset::errors_of(model, spec::OpTable(), external);
  if (errors.empty()) return {};
  std::move(errors.begin(), errors.end(), std::back_inserter(findings));
  return make_error("unsupported-operator", "a model with errors is not written in another framework's operators");
}

}  // namespace

Result<void> bring_to(ir::Model& model, std::int64_t opset, const foreign::Writers& writers,
                      std::vector<Diagnostic>& findings) {
  if (auto sound = refuse_unsound(model, findings); !sound) return sound;
  // Before the opset changes, so that types inside are known; those of another opset afterwards.
  if (auto inlined = inline_functions(model, writers); !inlined) return inlined;
  if (!model.functions.empty() || has_contrib_operators(model, writers)) {
    if (auto changed = change_opset(model, contrib_opset, findings); !changed) return changed;
    if (auto inlined = inline_functions(model, writers); !inlined) return inlined;
    if (auto written = write_contrib_operators(model, writers); !written) return written;
  }
  return change_opset(model, opset, findings);
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
