#include "checker/infer/annotate.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "checker/infer/infer_model.h"
#include "libonnxkit/ir/model.h"
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
      const auto fixed = dim.value ? sizes.end() : sizes.find(std::string(dim.param.view()));
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

  void write(const ir::GraphScope& scope, ir::Graph& graph) {
    const auto info = inferred_.graphs.find(&graph);
    if (info == inferred_.graphs.end()) return;
    std::set<ValueId> stated;
    for (ir::ValueInfo& output : graph.outputs) {
      if (output.value == ValueId::none) continue;
      stated.insert(output.value);
      const checker::Type& type = info->second.values[index_of(output.value)].type;
      if (type.is_unknown()) continue;
      if (!output.type) output.type.emplace();
      complete_output(*output.type, declared(type));
    }
    for (ir::ValueInfo& input : graph.inputs) {
      stated.insert(input.value);
      if (input.type && !options_.dims.empty()) fix_named_sizes(*input.type, options_.dims);
    }
    for (const ir::Tensor& tensor : graph.initializers) stated.insert(graph.find(tensor.name));
    replace_value_infos(scope, graph, info->second, stated);
  }

 private:
  ir::DeclaredType declared(const checker::Type& type) {
    return checker::to_declared(type, inferred_.dims, [this](const std::string& text) { return model_.keep(text); });
  }

  void replace_value_infos(const ir::GraphScope& scope, ir::Graph& graph, const checker::GraphInfo& inferred,
                           const std::set<ValueId>& stated) {
    std::vector<ir::ValueInfo> old = std::move(graph.value_infos);
    graph.value_infos.clear();
    std::vector<std::int32_t> old_of(graph.values.size(), -1);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i].value != ValueId::none) old_of[index_of(old[i].value)] = static_cast<std::int32_t>(i);
    }
    const std::string path = ir::path_text(scope.path);
    for (const ir::Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id == ValueId::none) continue;
        const checker::Type& type = inferred.values[index_of(id)].type;
        const bool complete = is_fully_known(type, inferred_.dims);
        report_.values.push_back({path, std::string(graph.name_of(id)), to_string(type, inferred_.dims), complete});
        report_.complete += complete ? 1 : 0;
        if (type.is_unknown() || stated.contains(id)) continue;
        ir::ValueInfo info;
        if (const std::int32_t previous = old_of[index_of(id)]; previous >= 0)
          info = std::move(old[static_cast<std::size_t>(previous)]);
        info.value = id;
        info.type = declared(type);
        graph.value_infos.push_back(std::move(info));
      }
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
  for (std::size_t i = 0; i < scopes.size(); ++i) writer.write(*scopes[i], *graphs[i]);
  report.diagnostics = collector.take();
  if (!inferred->assumed.empty()) report.diagnostics.push_back(assumed_defaults(inferred->assumed));
  return report;
}

}  // namespace onnxkit::checker
