#include "libonnxkit/inputs/readers.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "libonnxkit/ir/order.h"

namespace onnxkit::inputs {
namespace {

/// Graphs and functions in each other. The reference runs none that nest deeper, and each one's place is part of those inside it.
constexpr int most_depth = 200;

bool is_standard(const ir::Node& node, std::string_view op) {
  return node.op_type.view() == op && ir::canonical_domain(node.domain).empty();
}

/// The body of a loop over passes or over elements, or null.
const ir::Graph* loop_body(const ir::Node& node) {
  const ir::Attribute* body =
      is_standard(node, "Loop") || is_standard(node, "Scan") ? node.find_attribute("body") : nullptr;
  return body ? body->graph() : nullptr;
}

/// How many values a loop hands from one pass to the next.
std::size_t carried_count(const ir::Node& node) {
  if (is_standard(node, "Loop")) return node.inputs.size() - std::min<std::size_t>(2, node.inputs.size());
  const ir::Attribute* count = node.find_attribute("num_scan_inputs");
  const auto* scanned = count ? count->as<std::int64_t>() : nullptr;
  const ir::Graph* body = loop_body(node);
  const auto all = static_cast<std::int64_t>(body ? body->inputs.size() : 0);
  return scanned && *scanned >= 0 && *scanned <= all ? static_cast<std::size_t>(all - *scanned) : 0;
}

}  // namespace

void Readers::follow(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                     const std::string& where) {
  if (depth_ >= most_depth || id == ir::ValueId::none || !seen_.insert({&graph, id}).second) return;
  ++depth_;
  follow_readers(graph, opsets, id, where);
  follow_out(graph, opsets, id, where);
  --depth_;
}

void Readers::follow_readers(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                             const std::string& where) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    const auto place = [&] { return fmt::format("{} / node {}", where, i); };
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == id) read({graph, opsets, node, k, where, place()});
    }
    ir::for_each_subgraph(node, [&](const ir::Graph& inner, std::size_t) {
      owners_.try_emplace(&inner, Owner{&graph, opsets, &node, where});
      follow(inner, opsets, inner.find(graph.name_of(id)), place());
    });
  }
}

void Readers::follow_into_body(const Reader& reader) {
  const ir::Graph* body = loop_body(reader.node);
  if (!body || body->inputs.size() > reader.node.inputs.size()) return;
  const std::size_t lengths = reader.node.inputs.size() - body->inputs.size();  // Scan 8 takes them first
  if (reader.input < lengths) return;
  owners_.try_emplace(body, Owner{&reader.graph, reader.opsets, &reader.node, reader.where});
  follow(*body, reader.opsets, body->inputs[reader.input - lengths].value, reader.place);
}

void Readers::follow_out(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                         const std::string& where) {
  const auto found = owners_.find(&graph);
  if (found == owners_.end()) return;
  const Owner owner = found->second;
  const ir::Node& node = *owner.node;
  const ir::Graph* body = loop_body(node);
  if (!body && !is_standard(node, "If") && !functions_.find(node)) return;
  const std::size_t conditions = is_standard(node, "Loop") ? 1 : 0;
  for (std::size_t i = conditions; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i].value != id) continue;
    const std::size_t at = i - conditions;
    if (at < node.outputs.size()) follow(*owner.graph, owner.opsets, node.outputs[at], owner.where);
    if (body && at < carried_count(node) && at + 2 * conditions < body->inputs.size())
      follow(graph, opsets, body->inputs[at + 2 * conditions].value, where);
  }
}

void Readers::read(const Reader& reader) {
  const ir::Function* called = functions_.find(reader.node);
  if (!called) {
    visit_(reader);
    return follow_into_body(reader);
  }
  const ir::Graph& body = called->body;
  owners_.try_emplace(&body, Owner{&reader.graph, reader.opsets, &reader.node, reader.where});
  if (reader.input < body.inputs.size())
    follow(body, called->opset_imports, body.inputs[reader.input].value, reader.place);
}

const ir::Tensor* initializer_of(const ir::Graph& graph, ir::ValueId id) {
  const std::string_view name = graph.name_of(id);
  const auto tensor = std::find_if(graph.initializers.begin(), graph.initializers.end(),
                                   [&](const ir::Tensor& one) { return one.name == name; });
  return tensor == graph.initializers.end() ? nullptr : &*tensor;
}

}  // namespace onnxkit::inputs
