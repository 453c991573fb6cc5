#include "converters/opset/engine/declare.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <vector>

#include "onnxkit/element_type.h"

namespace onnxkit::opset {
namespace {

std::optional<ElementType> target_of(const ir::Node& node) {
  const ir::Attribute* to = node.find_attribute("to");
  const auto* text = to ? to->as<Text>() : nullptr;
  if (!text) return std::nullopt;
  std::string name(text->view());
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return element_type_named(name);
}

}  // namespace

void declare_casts(ir::Graph& graph) {
  std::map<ir::ValueId, ir::ValueInfo*>
      entries;  // what the graph says of a value, outputs of bodies often without a type
  for (auto* infos : {&graph.value_infos, &graph.outputs}) {
    for (ir::ValueInfo& info : *infos) entries[info.value] = &info;
  }
  std::vector<ir::ValueInfo> made;
  for (const ir::Node& node : graph.nodes) {
    if (node.op_type != "Cast" || !node.domain.empty() || node.outputs.size() != 1) continue;
    const auto type = target_of(node);
    const auto entry = entries.find(node.outputs[0]);
    if (!type || (entry != entries.end() && entry->second->type)) continue;
    ir::DeclaredType declared;
    declared.kind = ir::DeclaredType::Kind::tensor;
    declared.elem_type = static_cast<std::int32_t>(*type);
    if (entry != entries.end()) {
      entry->second->type = std::move(declared);
      continue;
    }
    made.emplace_back();
    made.back().value = node.outputs[0];
    made.back().type = std::move(declared);
  }
  std::move(made.begin(), made.end(), std::back_inserter(graph.value_infos));
}

}  // namespace onnxkit::opset
