#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/inspect/inspect.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

Json to_json(const Quantity& quantity) {
  if (quantity.value) return *quantity.value;
  return quantity.text.empty() ? Json(nullptr) : Json(quantity.text);
}

Json to_json(const std::vector<ValueSummary>& values) {
  Json out = Json::array();
  for (const ValueSummary& value : values) out.push_back({{"name", value.name}, {"type", value.type}});
  return out;
}

/// JSON has no numbers for those that are not finite, and a figure of nothing is null.
Json real_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json to_json(const TensorSummary& tensor) {
  Json out = {{"name", tensor.name},
              {"type", tensor.type},
              {"shape", tensor.shape},
              {"elements", tensor.elements},
              {"bytes", tensor.bytes}};
  if (tensor.is_external) out["external"] = true;
  if (tensor.is_sparse) out["sparse"] = true;
  out["values"] = tensor.values;
  if (!tensor.unread.empty()) out["unread"] = tensor.unread;
  if (const auto& found = tensor.statistics) {
    out["statistics"] = {{"sampled", found->sampled},
                         {"minimum", real_or_null(found->minimum)},
                         {"maximum", real_or_null(found->maximum)},
                         {"mean", real_or_null(found->mean)},
                         {"nan", found->nan},
                         {"infinite", found->infinite},
                         {"zeros", found->zeros},
                         {"histogram", found->histogram}};
  }
  return out;
}

Json to_json(const std::vector<std::pair<std::string, std::string>>& entries) {
  Json out = Json::array();
  for (const auto& [key, value] : entries) out.push_back({{"key", key}, {"value", value}});
  return out;
}

/// What few nodes have is left out where it is not there.
void add_rare(Json& out, const NodeSummary& node) {
  if (node.version) out["version"] = *node.version;
  if (!node.formal_inputs.empty()) out["formal_inputs"] = node.formal_inputs;
  if (!node.formal_outputs.empty()) out["formal_outputs"] = node.formal_outputs;
  if (node.constant) out["constant"] = to_json(*node.constant);
  if (!node.doc.empty()) out["doc"] = node.doc;
  if (!node.metadata.empty()) out["metadata"] = to_json(node.metadata);
}

Json to_json(const GraphSummary& graph) {
  Json nodes = Json::array();
  for (const NodeSummary& node : graph.nodes) {
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"inputs", node.inputs},
                     {"outputs", node.outputs},
                     {"captures", node.captures},
                     {"attributes", node.attributes},
                     {"output_types", node.output_types},
                     {"multiply_adds", to_json(node.multiply_adds)},
                     {"parameters", node.parameters},
                     {"output_bytes", to_json(node.output_bytes)}});
    add_rare(nodes.back(), node);
  }
  Json names = Json::array(), tensors = Json::array();
  for (const TensorSummary& tensor : graph.initializers) {
    if (!tensor.is_sparse) names.push_back(tensor.name);
    tensors.push_back(to_json(tensor));
  }
  return {{"path", graph.path},
          {"name", graph.name},
          {"doc", graph.doc},
          {"inputs", to_json(graph.inputs)},
          {"outputs", to_json(graph.outputs)},
          {"initializers", std::move(names)},
          {"tensors", std::move(tensors)},
          {"nodes", std::move(nodes)}};
}

}  // namespace

Json inspect_object(const InspectReport& report) {
  Json out;
  out["format"] = "onnxkit-inspect";
  out["format_version"] = 1;
  out["path"] = report.path.string();
  out["ir_version"] = report.ir_version ? Json(*report.ir_version) : Json(nullptr);
  out["model_version"] = report.model_version ? Json(*report.model_version) : Json(nullptr);
  out["producer"] = report.producer;
  out["domain"] = report.domain;
  out["doc"] = report.doc;
  out["opsets"] = Json::array();
  for (const auto& [domain, version] : report.opsets)
    out["opsets"].push_back({{"domain", domain}, {"version", version}});
  out["metadata"] = to_json(report.metadata);
  out["parameters"] = Json::array();
  for (const ParameterSummary& row : report.parameters) {
    out["parameters"].push_back(
        {{"type", row.type}, {"tensors", row.tensors}, {"elements", row.elements}, {"bytes", row.bytes}});
  }
  out["external_bytes"] = report.external_bytes;
  out["multiply_adds"] = to_json(report.multiply_adds);
  out["uncounted_nodes"] = report.uncounted_nodes;
  out["activation_peak_bytes"] = to_json(report.activation_peak);
  if (!report.unknown_size.empty()) out["unknown_size"] = report.unknown_size;
  out["free_dims"] = report.free_dims;
  out["operators"] = Json::array();
  for (const auto& [op, count] : report.operators) out["operators"].push_back({{"op", op}, {"count", count}});
  out["functions"] = Json::array();
  for (const FunctionSummary& function : report.functions) {
    out["functions"].push_back({{"name", function.name}, {"nodes", function.nodes}, {"calls", function.calls}});
  }
  out["graphs"] = Json::array();
  for (const GraphSummary& graph : report.graphs) out["graphs"].push_back(to_json(graph));
  return out;
}

std::string inspect_json(const InspectReport& report) { return json_text(inspect_object(report)); }

}  // namespace onnxkit::tools
