#include "onnxkit/infer.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/api/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/order.h"
#include "onnxkit/nearest.h"

namespace onnxkit {
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

  void write(const checker::GraphSite& site, ir::Graph& graph) {
    const auto facts = inferred_.graphs.find(&graph);
    if (facts == inferred_.graphs.end()) return;
    std::set<ValueId> stated;
    for (ir::ValueInfo& output : graph.outputs) {
      if (output.value == ValueId::none) continue;
      stated.insert(output.value);
      const checker::Type& type = facts->second.values[index_of(output.value)].type;
      if (type.is_unknown()) continue;
      if (!output.type) output.type.emplace();
      complete_output(*output.type, declared(type));
    }
    for (ir::ValueInfo& input : graph.inputs) {
      stated.insert(input.value);
      if (input.type && !options_.dims.empty()) fix_named_sizes(*input.type, options_.dims);
    }
    for (const ir::Tensor& tensor : graph.initializers) stated.insert(graph.find(tensor.name));
    replace_value_infos(site, graph, facts->second, stated);
  }

 private:
  ir::DeclaredType declared(const checker::Type& type) {
    return checker::to_declared(type, inferred_.dims, [this](const std::string& text) { return model_.keep(text); });
  }

  void replace_value_infos(const checker::GraphSite& site, ir::Graph& graph, const checker::GraphFacts& facts,
                           const std::set<ValueId>& stated) {
    std::vector<ir::ValueInfo> old = std::move(graph.value_infos);
    graph.value_infos.clear();
    std::vector<std::int32_t> old_of(graph.values.size(), -1);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i].value != ValueId::none) old_of[index_of(old[i].value)] = static_cast<std::int32_t>(i);
    }
    const std::string path = checker::scope_path(site.scope);
    for (const ir::Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id == ValueId::none) continue;
        const checker::Type& type = facts.values[index_of(id)].type;
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

std::string node_text(const ir::Graph& graph, std::size_t node) {
  const ir::Node& at = graph.nodes[node];
  const std::string name = at.name.empty() ? std::string() : " " + quote(at.name);
  return fmt::format("node {} ({}{})", node, checker::qualified_op(at), name);
}

/// Reasons of the lost symbols in a shape of known rank.
std::string lost_sizes(const checker::Type& type, const ir::DimPool& dims) {
  std::string text;
  if (!type.shape) return text;
  for (const ir::Dim size : *type.shape) {
    for (const std::size_t index : dims.symbols_in(size)) {
      const ir::Symbol& symbol = dims.symbol(index);
      if (symbol.origin != ir::SymbolOrigin::lost || symbol.reason.empty()) continue;
      if (text.find(symbol.reason) == std::string::npos) text += (text.empty() ? "" : "; ") + symbol.reason;
    }
  }
  return text;
}

Diagnostic assumed_defaults(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) list += (i > 0 ? ", " : "") + quote(names[i]);
  if (names.size() > most) list += fmt::format(" and {} more", names.size() - most);
  Diagnostic finding;
  finding.severity = Severity::info;
  finding.code = "assumed-default";
  finding.place.scope = {"main"};
  finding.message = "shapes may hang on the content of inputs that have a default: " + list;
  finding.help = "--no-assume-defaults leaves open what a caller can change";
  return finding;
}

}  // namespace

Result<InferReport> infer(Model& model, const InferOptions& options) {
  checker::Sink sink;
  const auto inferred = api::infer_types(model.ir(), options, sink);
  if (!inferred) return inferred.error();
  InferReport report;
  ValueInfoWriter writer(model.ir(), *inferred, options, report);
  for (const auto& site : checker::graph_sites(model.ir())) {
    // Sites are read-only views; the model behind them is ours to change.
    writer.write(*site, const_cast<ir::Graph&>(*site->graph));
  }
  report.diagnostics = sink.take();
  if (!inferred->assumed.empty()) report.diagnostics.push_back(assumed_defaults(inferred->assumed));
  return report;
}

Result<std::vector<WhyStep>> why_unknown(const Model& model, std::string_view value, const InferOptions& options) {
  const ir::Graph* graph = model.ir().graph.get();
  const ValueId start = graph ? graph->find(value) : ValueId::none;
  if (start == ValueId::none) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; graph && i < graph->values.size(); ++i) names.push_back(graph->values[i].name);
    Error error = make_error("unknown-value", fmt::format("the main graph has no value {}", quote(value)));
    if (const std::string_view close = nearest(value, names); !close.empty())
      error.diagnostic.help = fmt::format("did you mean {}?", close);
    return error;
  }
  checker::Sink sink;
  const auto inferred = api::infer_types(model.ir(), options, sink);
  if (!inferred) return inferred.error();
  const ir::DimPool& dims = inferred->dims;
  const checker::GraphFacts& facts = inferred->graphs.at(graph);
  const std::vector<std::int32_t> producer = ir::producers(*graph);

  std::vector<WhyStep> steps;
  std::set<ValueId> seen;
  for (ValueId at = start; at != ValueId::none && seen.insert(at).second;) {
    const checker::Type& type = facts.values[index_of(at)].type;
    WhyStep step{std::string(graph->name_of(at)), to_string(type, dims), {}, {}};
    const std::int32_t from = producer[index_of(at)];
    if (from >= 0) step.node = node_text(*graph, static_cast<std::size_t>(from));
    const auto loss = facts.losses.find(static_cast<std::uint32_t>(at));
    at = ValueId::none;
    if (loss != facts.losses.end()) {
      step.reason = loss->second.reason;
      at = loss->second.cause;
      if (step.reason.empty() && at != ValueId::none)
        step.reason = fmt::format("the shape of {} is not known", quote(graph->name_of(at)));
      if (step.reason.empty()) step.reason = "the operator does not tell the shape from what is known";
    } else if (is_fully_known(type, dims)) {
      step.reason = "fully known";
    } else {
      step.reason = lost_sizes(type, dims);
      if (step.reason.empty())
        step.reason = from >= 0 ? "nothing is known of what defines it" : "the file does not declare it";
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace onnxkit
