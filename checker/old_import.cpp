#include "checker/old_import.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {
namespace {

constexpr std::size_t few_nodes = 2;  ///< one node is rather wrong itself

bool takes(const spec::OpSchema& schema, const ir::Attribute& attribute) {
  const spec::AttributeSchema* declared = schema.find_attribute(attribute.name);
  if (declared == nullptr) return false;
  const std::int32_t held = ir::attribute_type_of(attribute.payload);
  return held == 0 || held == static_cast<std::int32_t>(declared->type);
}

/// By its form: the numbers of inputs and outputs, and the attributes.
bool has_form_of(const ir::Node& node, const spec::OpSchema& schema) {
  const auto within = [](std::size_t count, std::uint16_t least, std::uint16_t most) {
    return count >= least && (most == spec::no_limit || count <= most);
  };
  if (!within(node.inputs.size(), schema.min_inputs, schema.max_inputs)) return false;
  if (!within(node.outputs.size(), schema.min_outputs, schema.max_outputs)) return false;
  const auto is_taken = [&](const ir::Attribute& attribute) { return takes(schema, attribute); };
  if (!std::all_of(node.attributes.begin(), node.attributes.end(), is_taken)) return false;
  return std::all_of(schema.attributes.begin(), schema.attributes.end(), [&](const spec::AttributeSchema& declared) {
    return !declared.required || node.find_attribute(declared.name) != nullptr;
  });
}

/// Nodes of ai.onnx that go by the model's import, of operators that some opset has.
std::vector<const ir::Node*> nodes_of(const ir::Model& model, const spec::OpTable& table) {
  std::vector<const ir::Node*> nodes;
  for (const auto& scope : ir::graph_scopes(model)) {
    if (scope->function) continue;
    for (const ir::Node& node : scope->graph->nodes) {
      if (ir::canonical_domain(node.domain).empty() && !table.versions("", node.op_type).empty())
        nodes.push_back(&node);
    }
  }
  return nodes;
}

std::vector<const ir::Node*> misfits(const std::vector<const ir::Node*>& nodes, const spec::OpTable& table,
                                     std::int64_t opset) {
  std::vector<const ir::Node*> found;
  for (const ir::Node* node : nodes) {
    const spec::OpSchema* schema = table.find("", node->op_type, opset);
    if (schema == nullptr || table.is_removed(*schema) || !has_form_of(*node, *schema)) found.push_back(node);
  }
  return found;
}

Diagnostic finding_of(const std::vector<const ir::Node*>& wrong, std::size_t all, std::size_t import,
                      std::int64_t imported, std::int64_t fitting) {
  constexpr std::size_t most_named = 8;
  std::set<std::string> ops;
  for (const ir::Node* node : wrong) ops.emplace(node->op_type.view());
  const std::size_t count = ops.size();
  if (count > most_named) ops.erase(std::next(ops.begin(), most_named), ops.end());
  Diagnostic finding;
  finding.code = "opset-too-old";
  finding.location.item = fmt::format("opset_import {}", import);
  finding.message = fmt::format("{} of {} nodes do not fit opset {}, which the model imports; all fit opset {}",
                                wrong.size(), all, imported, fitting);
  finding.expected = fmt::format("{} or a later opset", fitting);
  finding.found = std::to_string(imported);
  finding.notes.push_back(fmt::format("the nodes are {}{}", fmt::join(ops, ", "), count > most_named ? " ..." : ""));
  finding.help =
      fmt::format("set the version of opset_import to {}; upgrade would convert the nodes, which are not old", fitting);
  return finding;
}

}  // namespace

std::optional<OldImport> old_import(const ir::Model& model, const spec::OpTable& table) {
  const auto import = std::find_if(model.opset_imports.begin(), model.opset_imports.end(),
                                   [](const auto& entry) { return ir::canonical_domain(entry.domain).empty(); });
  if (import == model.opset_imports.end() || !model.functions.empty()) return std::nullopt;
  const std::int64_t imported = import->version.value_or(0);
  const std::vector<const ir::Node*> nodes = nodes_of(model, table);
  const std::vector<const ir::Node*> wrong = misfits(nodes, table, imported);
  if (imported < 1 || wrong.size() < few_nodes) return std::nullopt;
  // ONNX Runtime's optimizer writes LayerNormalization into models of any opset.
  const auto is_addition = [&](const ir::Node* node) { return !table.additions("", node->op_type).empty(); };
  if (std::all_of(wrong.begin(), wrong.end(), is_addition)) return std::nullopt;
  for (std::int64_t opset = imported + 1; opset <= spec::newest_opset(""); ++opset) {
    if (!misfits(nodes, table, opset).empty()) continue;
    const auto at = static_cast<std::size_t>(import - model.opset_imports.begin());
    return OldImport{at, opset, finding_of(wrong, nodes.size(), at, imported, opset)};
  }
  return std::nullopt;
}

}  // namespace onnxkit::checker
