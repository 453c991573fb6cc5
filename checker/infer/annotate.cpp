#include "checker/infer/annotate.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/core.h>

#include "checker/infer/infer_model.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

using ir::index_of;
using ir::ValueId;

/// Fills what an output leaves open; what it states is kept, as inference reports contradictions.
void complete_output(ir::DeclaredType& declared, ir::DeclaredType inferred) {
  if (declared.kind == ir::DeclaredType::Kind::none) {
    declared = std::move(inferred);
    return;
  }
  if (declared.kind != inferred.kind) return;
  if (!declared.elem_type || *declared.elem_type == 0) declared.elem_type = inferred.elem_type;
  if (inferred.shape && (!declared.shape || declared.shape->dims.size() != inferred.shape->dims.size())) {
    declared.shape = std::move(inferred.shape);
  } else if (inferred.shape) {
    for (std::size_t i = 0; i < declared.shape->dims.size(); ++i) {
      ir::DeclaredDim& own = declared.shape->dims[i];
      ir::DeclaredDim& known = inferred.shape->dims[i];
      if (known.value || (!own.value && own.param.empty())) {
        own.value = known.value;
        own.param = known.param;
      }
    }
  }
  if (declared.element && inferred.element) complete_output(*declared.element, std::move(*inferred.element));
  if (!declared.element) declared.element = std::move(inferred.element);
}

/// Named sizes that the caller fixed become numbers.
void fix_named_sizes(ir::DeclaredType& type, const std::map<std::string, std::int64_t>& sizes) {
  if (type.shape) {
    for (ir::DeclaredDim& dim : type.shape->dims) {
      const auto fixed = dim.size() ? sizes.end() : sizes.find(std::string(dim.param.view()));
      if (fixed == sizes.end()) continue;
      dim.value = fixed->second;
      dim.param = {};
    }
  }
  if (type.element) fix_named_sizes(*type.element, sizes);
}

class ValueInfoWriter {
 public:
  ValueInfoWriter(ir::Model& model, const checker::InferredModel& inferred, const InferOptions& options,
                  InferReport& report)
      : model_(model), inferred_(inferred), options_(options), report_(report) {}

  ir::Patch patch(const ir::GraphScope& scope) {
    const ir::Graph& graph = *scope.graph;
    ir::Patch patch(graph);
    const auto info = inferred_.graphs.find(&graph);
    if (info == inferred_.graphs.end()) return patch;
    std::set<ValueId> stated;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const ir::ValueInfo& output = graph.outputs[i];
      if (output.value == ValueId::none) continue;
      stated.insert(output.value);
      const checker::Type& type = info->second.values[index_of(output.value)].type;
      if (type.is_unknown()) continue;
      ir::DeclaredType completed = output.type ? *ir::clone(output).type : ir::DeclaredType();
      complete_output(completed, declared(type));
      patch.declare_output(i, std::move(completed));
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::ValueInfo& input = graph.inputs[i];
      stated.insert(input.value);
      if (!input.type || options_.dims.empty()) continue;
      ir::DeclaredType fixed = *ir::clone(input).type;
      fix_named_sizes(fixed, options_.dims);
      patch.declare_input(i, std::move(fixed));
    }
    for (const ir::Tensor& tensor : graph.initializers) stated.insert(graph.find(tensor.name));
    replace_value_infos(patch, scope, info->second, stated);
    return patch;
  }

 private:
  ir::DeclaredType declared(const checker::Type& type) {
    return checker::to_declared(type, inferred_.dims, [this](const std::string& text) { return model_.keep(text); });
  }

  /// Value infos in the order of the nodes, of nothing but what nodes write.
  void replace_value_infos(ir::Patch& patch, const ir::GraphScope& scope, const checker::GraphInfo& inferred,
                           const std::set<ValueId>& stated) {
    const ir::Graph& graph = *scope.graph;
    std::unordered_set<ValueId> declared_now;
    const std::string path = ir::path_text(scope.path);
    for (const ir::Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id == ValueId::none) continue;
        const checker::Type& type = inferred.values[index_of(id)].type;
        const bool complete = is_fully_known(type, inferred_.dims);
        report_.values.push_back({path, std::string(graph.name_of(id)), to_string(type, inferred_.dims), complete});
        report_.complete += complete ? 1 : 0;
        if (type.is_unknown() || stated.contains(id) || !declared_now.insert(id).second) continue;
        patch.declare(id, declared(type));
      }
    }
    for (const ir::ValueInfo& info : graph.value_infos) {
      if (declared_now.insert(info.value).second) patch.declare(info.value, std::nullopt);
    }
  }

  ir::Model& model_;
  const checker::InferredModel& inferred_;
  const InferOptions& options_;
  InferReport& report_;
};

Diagnostic assumed_defaults(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) list += (i > 0 ? ", " : "") + quote(names[i]);
  if (names.size() > most) list += fmt::format(" and {} more", names.size() - most);
  Diagnostic finding;
  finding.severity = Severity::info;
  finding.code = "assumed-default";
  finding.location.scope = {"main"};
  finding.message = "shapes may depend on the content of inputs that have a default: " + list;
  finding.help = "--no-assume-defaults leaves shapes that a caller can change unknown";
  return finding;
}

}  // namespace

Result<InferReport> annotate(ir::Model& model, const InferOptions& options) {
  checker::Collector collector;
  const auto inferred = infer_model(model, options, collector);
  if (!inferred) return inferred.error();
  InferReport report;
  ValueInfoWriter writer(model, *inferred, options, report);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  const auto scopes = ir::graph_scopes(model);
  std::vector<ir::Patch> patches;
  for (const auto& scope : scopes) patches.push_back(writer.patch(*scope));
  for (std::size_t i = 0; i < scopes.size(); ++i) ir::splice(*graphs[i], std::move(patches[i]));
  report.diagnostics = collector.take();
  if (!inferred->assumed.empty()) report.diagnostics.push_back(assumed_defaults(inferred->assumed));
  return report;
}

}  // namespace onnxkit::checker
