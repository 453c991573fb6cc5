#include "converters/opset/declare.h"

#include <algorithm>
#include <cctype>
#include <set>

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
  std::set<ir::ValueId> declared;
  for (const auto* infos : {&graph.value_infos, &graph.outputs}) {
    for (const ir::ValueInfo& info : *infos) declared.insert(info.value);
  }
  for (const ir::Node& node : graph.nodes) {
    if (node.op_type != "Cast" || !node.domain.empty() || node.outputs.size() != 1) continue;
    const auto type = target_of(node);
    if (!type || !declared.insert(node.outputs[0]).second) continue;
    ir::ValueInfo info;
    info.value = node.outputs[0];
    info.type.emplace();
    info.type->kind = ir::DeclaredType::Kind::tensor;
    info.type->elem_type = static_cast<std::int32_t>(*type);
    graph.value_infos.push_back(std::move(info));
  }
}

}  // namespace onnxkit::opset
