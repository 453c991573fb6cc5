#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/order.h"
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
  ir::Tensor tensor;
  tensor.name = model.keep(name);
  tensor.dims = content.dims();
  tensor.data_type = static_cast<std::int32_t>(content.type());
  const auto bytes = content.bytes();
  tensor.raw_data = model.keep({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return tensor;
}

/// Each alternative of AttributeValue as the file has it.
struct Payload {
  ir::Model& model;
  using Made = Result<ir::Attribute::Payload>;

  Made operator()(float value) const { return ir::Attribute::Payload(value); }
  Made operator()(std::int64_t value) const { return ir::Attribute::Payload(value); }
  Made operator()(const std::string& value) const { return ir::Attribute::Payload(model.keep(value)); }
  Made operator()(const std::vector<float>& values) const { return ir::Attribute::Payload(values); }
  Made operator()(const std::vector<std::int64_t>& values) const { return ir::Attribute::Payload(values); }
  Made operator()(const std::vector<std::string>& values) const {
    std::vector<Text> texts;
    for (const std::string& value : values) texts.push_back(model.keep(value));
    return ir::Attribute::Payload(std::move(texts));
  }
  Made operator()(const Tensor& value) const {
    auto tensor = stored(model, {}, value);
    if (!tensor) return tensor.error();
    return ir::Attribute::Payload(std::make_unique<ir::Tensor>(*std::move(tensor)));
  }
};

Result<ir::Attribute> made(ir::Model& model, std::string_view name, const AttributeValue& value) {
  auto payload = std::visit(Payload{model}, value);
  if (!payload) return payload.error();
  ir::Attribute attribute;
  attribute.name = model.keep(name);
  attribute.payload = *std::move(payload);
  attribute.type = ir::attribute_type_of(attribute.payload);
  return attribute;
}

bool defines(const ir::Graph& graph, ir::ValueId id) {
  const auto is_it = [&](const ir::ValueInfo& info) { return info.value == id; };
  const auto writes_it = [&](const ir::Node& node) {
    return std::ranges::find(node.outputs, id) != node.outputs.end();
  };
  const auto holds_it = [&](const ir::Tensor& tensor) { return tensor.name.view() == graph.name_of(id); };
  return std::ranges::any_of(graph.inputs, is_it) || std::ranges::any_of(graph.nodes, writes_it) ||
         std::ranges::any_of(graph.initializers, holds_it) ||
         std::ranges::any_of(graph.sparse_initializers,
                             [&](const ir::SparseTensor& sparse) { return sparse.values && holds_it(*sparse.values); });
}

/// The graphs in which `name` means the value of `graph`: itself, and those below that do not define the name anew.
void collect_graphs(ir::Graph& graph, std::string_view name, std::vector<ir::Graph*>& graphs) {
  graphs.push_back(&graph);
  for (ir::Node& node : graph.nodes) {
    ir::for_each_subgraph(node, [&](ir::Graph& inner, std::size_t) {
      const ir::ValueId id = inner.find(name);
      if (id == ir::ValueId::none || !defines(inner, id)) collect_graphs(inner, name, graphs);
    });
  }
}

void rename(ir::Graph& graph, std::string_view from, Text to) {
  for (ir::Tensor& tensor : graph.initializers)
    if (tensor.name.view() == from) tensor.name = to;
  for (ir::SparseTensor& sparse : graph.sparse_initializers)
    if (sparse.values && sparse.values->name.view() == from) sparse.values->name = to;
  for (ir::TensorAnnotation& annotation : graph.quantization_annotations)
    if (annotation.tensor_name.view() == from) annotation.tensor_name = to;
  graph.rename(graph.find(from), to);
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
  const std::string old(from);  // may be a view of the name that goes
  std::vector<ir::Graph*> graphs;
  collect_graphs(graph, old, graphs);
  for (const ir::Graph* one : graphs) {
    if (one->find(to) != ir::ValueId::none)
      return make_error("usage", fmt::format("a graph has a value {} already", quote(to)));
  }
  const Text kept = model.keep(to);
  for (ir::Graph* one : graphs) rename(*one, old, kept);
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
