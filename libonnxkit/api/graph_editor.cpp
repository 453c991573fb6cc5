#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/rename.h"
#include "onnxkit/graph.h"

namespace onnxkit {
namespace {

Result<ir::Node*> node_at(ir::Graph& graph, std::size_t index) {
  if (index < graph.nodes.size()) return &graph.nodes[index];
  return make_error("usage", fmt::format("node {} does not exist among {}", index, graph.nodes.size()));
}

Result<ir::Tensor> stored(ir::Model& model, std::string_view name, const Tensor& content) {
  if (content.type() == ElementType::string)
    return make_error("unsupported-format", "a tensor of strings cannot be stored this way");
  ir::Tensor tensor = ir::make_tensor(model, content.type(), content.dims(), content.bytes());
  tensor.name = model.keep(name);
  return tensor;
}

Result<ir::Attribute> made(ir::Model& model, std::string_view name, const AttributeValue& value) {
  if (const auto* content = std::get_if<Tensor>(&value)) {
    auto tensor = stored(model, {}, *content);
    if (!tensor) return tensor.error();
    return ir::make_attribute(model, name, *std::move(tensor));
  }
  ir::Attr attribute{name, {}};
  std::visit(
      [&](const auto& data) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(data)>, Tensor>) attribute.value = data;
      },
      value);
  return ir::make_attribute(model, attribute);
}

}  // namespace

GraphEditor::GraphEditor(Model& model) : model_(&model) {}

Result<void> GraphEditor::add_node(const NewNode& node, std::optional<std::size_t> before) {
  ir::Model& model = model_->ir();
  ir::Graph& graph = *model.graph;
  const std::size_t at = before.value_or(graph.nodes.size());
  if (at > graph.nodes.size())
    return make_error("usage", fmt::format("node {} does not exist among {}", at, graph.nodes.size()));
  ir::Node added;
  added.op_type = model.keep(node.op_type);
  if (!node.domain.empty()) added.domain = model.keep(node.domain);
  if (!node.name.empty()) added.name = model.keep(node.name);
  for (const auto& [name, value] : node.attributes) {
    auto attribute = made(model, name, value);
    if (!attribute) return attribute.error();
    added.attributes.push_back(*std::move(attribute));
  }
  for (const std::string& input : node.inputs) added.inputs.push_back(graph.intern(model.keep(input)));
  for (const std::string& output : node.outputs) added.outputs.push_back(graph.intern(model.keep(output)));
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(added));
  return {};
}

Result<void> GraphEditor::remove_node(std::size_t index) {
  ir::Graph& graph = *model_->ir().graph;
  if (const auto node = node_at(graph, index); !node) return node.error();
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(index));
  return {};
}

Result<void> GraphEditor::set_attribute(std::size_t node, std::string_view name, const AttributeValue& value) {
  const auto found = node_at(*model_->ir().graph, node);
  if (!found) return found.error();
  auto attribute = made(model_->ir(), name, value);
  if (!attribute) return attribute.error();
  auto& all = (*found)->attributes;
  const auto old = std::ranges::find_if(all, [&](const ir::Attribute& a) { return a.name.view() == name; });
  if (old != all.end())
    *old = *std::move(attribute);
  else
    all.push_back(*std::move(attribute));
  return {};
}

Result<void> GraphEditor::remove_attribute(std::size_t node, std::string_view name) {
  const auto found = node_at(*model_->ir().graph, node);
  if (!found) return found.error();
  std::erase_if((*found)->attributes, [&](const ir::Attribute& attribute) { return attribute.name.view() == name; });
  return {};
}

Result<void> GraphEditor::set_input(std::size_t node, std::size_t input, std::string_view value) {
  ir::Model& model = model_->ir();
  const auto found = node_at(*model.graph, node);
  if (!found) return found.error();
  auto& inputs = (*found)->inputs;
  if (input >= inputs.size()) return make_error("usage", fmt::format("the node has {} inputs", inputs.size()));
  inputs[input] = model.graph->intern(model.keep(value));
  return {};
}

Result<void> GraphEditor::rename_value(std::string_view from, std::string_view to) {
  ir::Model& model = model_->ir();
  ir::Graph& graph = *model.graph;
  if (graph.find(from) == ir::ValueId::none) {
    std::vector<std::string_view> names;
    for (const ir::Value& value : graph.values) names.push_back(value.name.view());
    return unknown_name("unknown-value", "value", from, names);
  }
  if (to.empty()) return make_error("usage", "a value needs a name");
  if (!ir::rename_value(graph, graph.find(from), model.keep(to)))
    return make_error("usage", fmt::format("a graph has a value {} already", quote(to)));
  return {};
}

Result<void> GraphEditor::set_initializer(std::string_view name, const Tensor& content) {
  ir::Model& model = model_->ir();
  auto tensor = stored(model, name, content);
  if (!tensor) return tensor.error();
  auto& all = model.graph->initializers;
  const auto old = std::ranges::find_if(all, [&](const ir::Tensor& t) { return t.name.view() == name; });
  if (old != all.end())
    *old = *std::move(tensor);
  else
    all.push_back(*std::move(tensor));
  model.graph->intern_initializers();
  return {};
}

}  // namespace onnxkit
