#include "converters/formats/saved_model/graph_index.h"

#include <algorithm>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::saved_model {

GraphIndex::GraphIndex(foreign::Graph& graph) : graph_(graph) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) tensors_.emplace(graph.tensors[i].value, i);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].outputs) writers_.emplace(id, n);
    for_each_input(graph.nodes[n], [&](ValueId id) { ++uses_[id]; });
  }
  for (const foreign::Output& output : graph.outputs) ++uses_[output.value];
}

Node* GraphIndex::writer(ValueId value) const {
  const auto found = writers_.find(value);
  return found == writers_.end() ? nullptr : &graph_.nodes[found->second];
}

Node* GraphIndex::writer(ValueId value, std::string_view op) const {
  Node* node = writer(value);
  return node && node->op == op ? node : nullptr;
}

Node* GraphIndex::only_writer(ValueId value, std::string_view op) const {
  Node* node = writer(value, op);
  return node && node->outputs.size() == 1 && uses(value) == 1 ? node : nullptr;
}

const Tensor* GraphIndex::tensor(ValueId value) const {
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? nullptr : &graph_.tensors[found->second];
}

std::size_t GraphIndex::uses(ValueId value) const {
  const auto found = uses_.find(value);
  return found == uses_.end() ? 0 : found->second;
}

std::optional<std::vector<std::int64_t>> GraphIndex::integers(ValueId value) const {
  const Tensor* stored = tensor(value);
  if (!stored || (stored->elem != ElementType::int32 && stored->elem != ElementType::int64)) return std::nullopt;
  constexpr std::int64_t most = 64;
  const auto count = checked_element_count(stored->dims);
  if (!count || *count > most) return std::nullopt;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(*count));
  decode(stored->elem, stored->bytes, std::span(numbers));
  return numbers;
}

void GraphIndex::take_results(Node& node, Node& later) {
  const auto place = static_cast<std::size_t>(&node - graph_.nodes.data());
  for (const ValueId id : later.outputs) writers_[id] = place;
  node.outputs = std::exchange(later.outputs, {});
}

ValueId GraphIndex::add_view(const Tensor& of, std::vector<std::int64_t> dims) {
  Tensor view = of;
  view.dims = std::move(dims);
  view.value = graph_.add_value(view.name, foreign::TensorType{.elem = view.elem});
  tensors_.emplace(view.value, graph_.tensors.size());
  graph_.tensors.push_back(std::move(view));
  return graph_.tensors.back().value;
}

ValueId given_value(const Node& node, std::string_view name) {
  const Argument* given = node.find(name);
  const ValueId* value = given ? given->as<ValueId>() : nullptr;
  return value ? *value : ValueId::none;
}

bool given_flag(const Node& node, std::string_view name) {
  const Argument* given = node.find(name);
  const bool* value = given ? given->as<bool>() : nullptr;
  return value && *value;
}

std::string_view given_text(const Node& node, std::string_view name) {
  const Argument* given = node.find(name);
  const auto* text = given ? given->as<std::string_view>() : nullptr;
  return text ? *text : std::string_view();
}

bool are_ones(const Node& node, std::string_view name) {
  const Argument* given = node.find(name);
  const auto* list = given ? given->as<Argument::List>() : nullptr;
  return !list || std::all_of(list->begin(), list->end(), [](const Argument& item) {
    const auto* number = item.as<std::int64_t>();
    return number && *number == 1;
  });
}

void set_argument(Node& node, Argument argument) {
  std::erase_if(node.arguments, [&](const Argument& old) { return old.name == argument.name; });
  node.arguments.push_back(std::move(argument));
}

}  // namespace onnxkit::saved_model
