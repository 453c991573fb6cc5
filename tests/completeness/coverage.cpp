#include "tests/completeness/coverage.h"

#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "libonnxkit/ir/scope.h"

namespace onnxkit::completeness {

void Coverage::add(const ir::Model& model, const spec::OpTable& table, const checker::InferredModel& inferred) {
  for (const auto& scope : ir::graph_scopes(model)) {
    for (const ir::Node& node : scope->graph->nodes) {
      const auto opset = scope->opset(node.domain);
      const spec::OpSchema* schema = opset ? table.find_with_additions(node.domain, node.op_type, *opset) : nullptr;
      if (!schema) continue;
      const bool has_input = !node.inputs.empty() && node.inputs.front() != ir::ValueId::none;
      const checker::ValueInfo* info = has_input ? inferred.find(*scope->graph, node.inputs.front()) : nullptr;
      add(*schema, info && info->type.is_tensor() ? info->type.elem : ElementType::undefined);
    }
  }
}

void Coverage::read(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string domain, op;
  int version = 0, type = 0;
  while (in >> domain >> op >> version >> type) ran_.emplace(domain == "ai.onnx" ? "" : domain, op, version, type);
}

void Coverage::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  for (const auto& [domain, op, version, type] : ran_)
    out << (domain.empty() ? "ai.onnx" : domain) << ' ' << op << ' ' << version << ' ' << type << '\n';
}

std::vector<ElementType> first_input_types(const spec::OpSchema& schema) {
  std::vector<ElementType> types;
  const std::uint32_t mask = schema.inputs.empty() ? 0 : schema.types_of(schema.inputs.front()).tensor;
  for (int number = 1; number < element_type_count; ++number) {
    if ((mask >> number) & 1u) types.push_back(static_cast<ElementType>(number));
  }
  if (types.empty()) types.push_back(ElementType::undefined);
  return types;
}

std::vector<std::string> Coverage::holes() const {
  const spec::OpTable table;
  std::vector<std::string> missing;
  for (const spec::OpSchema& schema : spec::official_schemas()) {
    if (table.is_removed(schema)) continue;
    for (const ElementType type : first_input_types(schema)) {
      const Key key(schema.domain, schema.name, schema.since_version, static_cast<int>(type));
      if (ran_.contains(key) || refused_.contains(key)) continue;
      missing.push_back(fmt::format("{}{}{}-{} {}", schema.domain, schema.domain.empty() ? "" : "::", schema.name,
                                    schema.since_version, type == ElementType::undefined ? "-" : name_of(type)));
    }
  }
  return missing;
}

}  // namespace onnxkit::completeness
