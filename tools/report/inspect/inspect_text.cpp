#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "tools/report/diagnostics.h"
#include "tools/report/inspect/inspect.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

std::string quantity_text(const Quantity& quantity, std::string (*show)(std::uint64_t)) {
  constexpr std::size_t readable = 400;
  if (quantity.value && *quantity.value >= 0) return show(static_cast<std::uint64_t>(*quantity.value));
  if (quantity.text.size() > readable) return "an expression too long for here, which --format json prints,";
  return quantity.text.empty() ? "unknown" : quantity.text;
}

void add_values(std::string& text, std::string_view title, const std::vector<ValueSummary>& values) {
  for (const ValueSummary& value : values)
    text += fmt::format("  {:<12} {}  {}\n", title, quote(value.name), without_controls(value.type));
}

/// Bytes without the unit that the head of the column has.
std::string plain_bytes(std::uint64_t bytes) { return counted(bytes); }

}  // namespace

std::string layers_text(const InspectReport& report) {
  std::vector<std::array<std::string, 4>> rows = {{"mult-adds", "parameters", "output bytes", "node"}};
  std::array<std::size_t, 3> widths = {};
  if (!report.graphs.empty()) {
    for (const NodeSummary& node : report.graphs.front().nodes) {
      const auto first = std::find_if(node.outputs.begin(), node.outputs.end(),
                                      [](const std::string& output) { return !output.empty(); });
      const std::string& name = node.name.empty() && first != node.outputs.end() ? *first : node.name;
      const bool has_cost = node.multiply_adds.value || !node.multiply_adds.text.empty();
      rows.push_back({has_cost ? quantity_text(node.multiply_adds, counted) : "-",
                      node.parameters > 0 ? counted(node.parameters) : "-",
                      quantity_text(node.output_bytes, plain_bytes), node.op + " " + quote(name)});
    }
  }
  for (auto& row : rows) {
    for (std::string& cell : row) cell = without_controls(cell);
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows)
    text +=
        fmt::format("  {:>{}}  {:>{}}  {:>{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2], widths[2], row[3]);
  return text;
}

std::string inspect_text(const InspectReport& report) {
  std::string text = shown_path(report.path.string()) + "\n";
  const auto line = [&text](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12} {}\n", label, without_controls(value));
  };
  line("IR version", report.ir_version ? std::to_string(*report.ir_version) : "none");
  std::string opsets;
  for (const auto& [domain, version] : report.opsets)
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain, version);
  line("opsets", opsets);
  line("producer", report.producer);
  line("domain", report.domain);
  line("doc", report.doc.empty() ? "" : quote(report.doc, 200));
  if (!report.graphs.empty()) {
    add_values(text, "input", report.graphs.front().inputs);
    add_values(text, "output", report.graphs.front().outputs);
  }
  for (const ParameterSummary& row : report.parameters) {
    line("parameters", fmt::format("{} {} in {}, {}", counted(row.elements), row.type, counted(row.tensors, "tensor"),
                                   in_bytes(row.bytes)));
  }
  if (report.external_bytes > 0) line("external", in_bytes(report.external_bytes) + " of them outside the model file");
  line("mult-adds", quantity_text(report.multiply_adds, counted) +
                        (report.uncounted_nodes > 0
                             ? fmt::format(", {} of unknown shape not counted", counted(report.uncounted_nodes, "node"))
                             : ""));
  line("activations",
       quantity_text(report.activation_peak, in_bytes) + " at the peak" +
           (report.unknown_size.empty() ? "" : fmt::format(": {} has no known size", quote(report.unknown_size))));
  std::string free;
  for (const std::string& name : report.free_dims) free += (free.empty() ? "" : ", ") + name;
  line("free sizes", free.empty() ? "" : free + "; --dim NAME=SIZE sets one");
  std::uint64_t nodes = 0;
  for (const GraphSummary& graph : report.graphs) nodes += graph.nodes.size();
  line("nodes", fmt::format("{} in {}", nodes, counted(report.graphs.size(), "graph")));
  for (const auto& [op, count] : report.operators) text += fmt::format("    {:>6} {}\n", count, without_controls(op));
  for (const FunctionSummary& function : report.functions) {
    line("function", fmt::format("{}: {}, called {}", function.name, counted(function.nodes, "node"),
                                 counted(function.calls, "time")));
  }
  for (const auto& [key, value] : report.metadata) line("metadata", fmt::format("{} = {}", quote(key), quote(value)));
  return text;
}

}  // namespace onnxkit::tools
