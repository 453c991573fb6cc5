#include "checker/inspect/inspect.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "checker/infer/cost.h"
#include "checker/infer/infer_model.h"
#include "checker/infer/infer_registry.h"
#include "checker/inspect/attribute_text.h"
#include "checker/inspect/tensor_summary.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::checker {
namespace {

using ir::index_of;
using ir::ValueId;

Quantity quantity(ir::Dim amount, const ir::DimPool& dims) {
  if (amount.is_unknown() || dims.has_origin(amount, ir::SymbolOrigin::lost)) return {};
  return {dims.to_string(amount), amount.is_constant() ? std::optional(amount.constant()) : std::nullopt};
}

class Inspector {
 public:
  Inspector(const ir::Model& model, const InspectOptions& options, InferredModel& inferred)
      : model_(model), table_(options.context.table()), inferred_(inferred), external_(model.path) {
    if (options.values) set_samples();
  }

  InspectReport run() {
    header();
    for (const auto& scope : ir::graph_scopes(model_)) add_graph(*scope);
    for (const auto& [op, count] : operator_counts_) report_.operators.emplace_back(op, count);
    std::sort(report_.operators.begin(), report_.operators.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::sort(report_.parameters.begin(), report_.parameters.end(),
              [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    for (const ir::Function& function : model_.functions) {
      const std::string name = ir::function_step(function).substr(std::string_view("function ").size());
      const auto calls = operator_counts_.find(name);
      report_.functions.push_back(
          {name, function.body.nodes.size(), calls == operator_counts_.end() ? 0 : calls->second});
    }
    return std::move(report_);
  }

 private:
  void header() {
    report_.path = model_.path;
    report_.ir_version = model_.ir_version;
    report_.model_version = model_.model_version;
    report_.producer = fmt::format("{}{}{}", model_.producer_name.view(), model_.producer_version.empty() ? "" : " ",
                                   model_.producer_version.view());
    report_.domain = model_.domain;
    report_.doc = model_.doc_string;
    for (const ir::OpsetImport& import : model_.opset_imports) {
      const std::string_view domain = ir::canonical_domain(import.domain);
      report_.opsets.emplace_back(domain.empty() ? "ai.onnx" : std::string(domain), import.version.value_or(0));
    }
    for (const ir::StringEntry& entry : model_.metadata_props)
      report_.metadata.emplace_back(entry.key.view(), entry.value.view());
  }

  void add_graph(const ir::GraphScope& scope) {
    const ir::Graph& graph = *scope.graph;
    const auto found = inferred_.graphs.find(&graph);
    const GraphInfo* info = found == inferred_.graphs.end() ? nullptr : &found->second;
    GraphSummary summary;
    summary.path = ir::path_text(scope.path);
    summary.name = graph.name;
    summary.doc = graph.doc_string;
    const ir::InitializerTable parameters(graph);
    for (const ir::Tensor& tensor : graph.initializers) {
      add_parameter(tensor);
      summary.initializers.push_back(outline_of(tensor));
      if (samples_ > 0) add_values(summary.initializers.back(), tensor, external_bytes_, samples_, 0);
    }
    for (const ir::SparseTensor& sparse : graph.sparse_initializers) {
      summary.initializers.push_back(outline_of(sparse));
      if (samples_ > 0 && sparse.values)
        add_values(summary.initializers.back(), *sparse.values, external_bytes_, samples_, 0);
    }
    const auto describe = [&](const std::vector<ir::ValueInfo>& infos) {
      std::vector<ValueSummary> out;
      for (const ir::ValueInfo& declared : infos)
        out.push_back({std::string(graph.name_of(declared.value)), type_of(info, declared.value)});
      return out;
    };
    for (const ir::ValueInfo& input : graph.inputs) {
      const std::string_view name = graph.name_of(input.value);
      if (!parameters.find(input.value)) summary.inputs.push_back({std::string(name), type_of(info, input.value)});
    }
    summary.outputs = describe(graph.outputs);
    ir::Dim total = 0;
    for (const ir::Node& node : graph.nodes) {
      ir::Dim cost = 0;
      const InferTraits& traits = traits_of(node, scope.opsets, table_);
      if (info) cost = multiply_adds(traits, node, *info, inferred_.dims);
      summary.nodes.push_back(node_summary(graph, node, info, cost, traits));
      add_schema(summary.nodes.back(), node, scope);
      if (traits.is_constant) summary.nodes.back().constant = constant_of(node, external_bytes_, samples_);
      add_sizes(summary.nodes.back(), node, parameters, info);
      ++operator_counts_[summary.nodes.back().op];
      const bool is_main = &graph == model_.graph.get();
      if (is_main && cost.is_unknown()) ++report_.uncounted_nodes;
      if (is_main && !cost.is_unknown()) total = inferred_.dims.add(total, cost);
    }
    if (&graph == model_.graph.get() && info) {
      report_.multiply_adds = quantity(total, inferred_.dims);
      add_peak(graph, activation_peak(graph, *info, inferred_.dims));
      add_free_dims(total);
    }
    report_.graphs.push_back(std::move(summary));
  }

  void add_peak(const ir::Graph& graph, const ActivationPeak& peak) {
    if (peak.unknown != ValueId::none) report_.unknown_size = graph.name_of(peak.unknown);
    for (const ir::Dim amount : peak.amounts) add_free_dims(amount);
    if (peak.amounts.size() < 2) {
      report_.activation_peak = quantity(peak.amounts.empty() ? ir::Dim() : peak.amounts.front(), inferred_.dims);
      return;
    }
    std::string text;
    for (const ir::Dim amount : peak.amounts) text += (text.empty() ? "max(" : ", ") + inferred_.dims.to_string(amount);
    report_.activation_peak.text = text + ")";
  }

  void add_free_dims(ir::Dim amount) {
    for (const std::size_t index : inferred_.dims.symbols_in(amount)) {
      const ir::Symbol& symbol = inferred_.dims.symbol(index);
      auto& names = report_.free_dims;
      if (symbol.origin == ir::SymbolOrigin::named && std::find(names.begin(), names.end(), symbol.name) == names.end())
        names.push_back(symbol.name);
    }
  }

  std::string type_of(const GraphInfo* info, ValueId id) const {
    return info && id != ValueId::none ? to_string(info->values[index_of(id)].type, inferred_.dims) : "?";
  }

  NodeSummary node_summary(const ir::Graph& graph, const ir::Node& node, const GraphInfo* info, ir::Dim cost,
                           const InferTraits& traits) const {
    NodeSummary summary;
    summary.name = node.name;
    summary.doc = node.doc_string;
    for (const ir::StringEntry& entry : node.metadata_props)
      summary.metadata.emplace_back(entry.key.view(), entry.value.view());
    summary.op = ir::qualified_op(node);
    for (const ValueId id : node.inputs) summary.inputs.emplace_back(graph.name_of(id));
    for (const ValueId id : node.outputs) {
      summary.outputs.emplace_back(graph.name_of(id));
      summary.output_types.push_back(type_of(info, id));
    }
    std::set<std::string_view> captured;
    for (const ValueId id : ir::captured_values(graph, node)) captured.insert(graph.name_of(id));
    summary.captures.assign(captured.begin(), captured.end());
    for (const ir::Attribute& attribute : node.attributes)
      summary.attributes.push_back(attribute_text(attribute, traits));
    if (!cost.is(0)) summary.multiply_adds = quantity(cost, inferred_.dims);
    return summary;
  }

  void add_schema(NodeSummary& summary, const ir::Node& node, const ir::GraphScope& scope) const {
    const std::string_view domain = ir::canonical_domain(node.domain);
    const auto opset = scope.opset(domain);
    const spec::OpSchema* schema = opset ? table_.find_with_additions(domain, node.op_type, *opset) : nullptr;
    if (!schema) return;
    summary.version = schema->since_version;
    const auto name_of = [](const spec::FormalParameter* parameter) {
      return parameter ? std::string(parameter->name) : std::string();
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) summary.formal_inputs.push_back(name_of(schema->input_at(i)));
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      summary.formal_outputs.push_back(name_of(schema->output_at(i)));
  }

  /// How much of each tensor is looked at depends on all of them.
  void set_samples() {
    std::vector<std::uint64_t> sizes;
    ir::each_tensor(model_, [&sizes](const ir::Tensor& tensor, ir::TensorRole) {
      sizes.push_back(static_cast<std::uint64_t>(ir::element_count(tensor).value_or(0)));
    });
    samples_ = SampleBudget(std::move(sizes)).most();
  }

  void add_sizes(NodeSummary& summary, const ir::Node& node, const ir::InitializerTable& parameters,
                 const GraphInfo* info) {
    std::set<ValueId> seen;
    for (const ValueId id : node.inputs) {
      const ir::Tensor* tensor = id == ValueId::none || !seen.insert(id).second ? nullptr : parameters.find(id);
      if (tensor) summary.parameters += static_cast<std::uint64_t>(ir::element_count(*tensor).value_or(0));
    }
    if (!info) return;
    ir::Dim bytes = 0;
    for (const ValueId id : node.outputs) {
      if (id != ValueId::none)
        bytes = inferred_.dims.add(bytes, value_bytes(info->values[index_of(id)].type, inferred_.dims));
    }
    summary.output_bytes = quantity(bytes, inferred_.dims);
  }

  void add_parameter(const ir::Tensor& tensor) {
    const ElementType type = ir::element_type_of(tensor);
    const std::string name(name_of(type));
    auto row = std::find_if(report_.parameters.begin(), report_.parameters.end(),
                            [&](const auto& p) { return p.type == name; });
    if (row == report_.parameters.end()) {
      report_.parameters.push_back({.type = name});
      row = report_.parameters.end() - 1;
    }
    const auto count = ir::element_count(tensor);
    const auto bytes = count ? ir::expected_bytes(type, *count) : std::nullopt;
    ++row->tensors;
    row->elements += static_cast<std::uint64_t>(count.value_or(0));
    row->bytes += bytes.value_or(0);
    if (tensor.is_external()) report_.external_bytes += bytes.value_or(0);
  }

  const ir::Model& model_;
  const spec::OpTable& table_;
  InferredModel& inferred_;
  wire::ExternalData external_;
  ir::ExternalBytes external_bytes_ = [this](const ir::Tensor& tensor) { return external_.bytes(tensor); };
  std::uint64_t samples_ = 0;  ///< of one tensor; 0: values are not looked at
  InspectReport report_;
  std::unordered_map<std::string, std::uint64_t> operator_counts_;
};

}  // namespace

Result<InspectReport> inspect(const ir::Model& model, const InspectOptions& options) {
  Collector collector;
  InferOptions inference;
  inference.dims = options.dims;
  inference.context = options.context;
  auto inferred = infer_model(model, inference, collector);
  if (!inferred) return std::move(inferred).error();
  return Inspector(model, options, *inferred).run();
}

}  // namespace onnxkit::checker
