#include "converters/formats/saved_model/table_editor.h"

#include <charconv>

#include <fmt/format.h>

#include "converters/containers/protobuf_writer.h"
#include "converters/formats/saved_model/scopes.h"

namespace onnxkit::saved_model {
namespace {

/// Outputs that functions name and that are not the first of their node.
bool is_second_output(std::string_view op, std::string_view output) {
  if (op.starts_with("Ref")) op.remove_prefix(3);
  return (op == "Switch" && output == "output_true") || (op == "Merge" && output == "value_index");
}

}  // namespace

TableEditor::TableEditor(GraphDef& graph, NodeTable& table, const FunctionDef* function, StringPool& strings)
    : graph_(graph), table_(table), function_(function), strings_(strings) {
  for (NodeDef& node : table.nodes) {
    nodes_.push_back(std::move(node));
    by_name_.emplace(nodes_.back().name, &nodes_.back());
  }
}

NodeDef* TableEditor::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::optional<Reference> TableEditor::resolve(std::string_view input) const {
  if (is_control(input)) input.remove_prefix(1);
  if (function_ && function_->parameter_places.contains(input)) return Reference{};
  const std::string_view name = input.substr(0, input.find(':'));
  NodeDef* node = find(name);
  if (!node) return std::nullopt;
  if (name.size() == input.size()) return Reference{node};
  std::string_view rest = input.substr(name.size() + 1);
  std::size_t index = 0;
  if (const auto colon = rest.rfind(':'); colon != rest.npos) {
    index = is_second_output(node->op, rest.substr(0, colon)) ? 1 : 0;
    rest.remove_prefix(colon + 1);
  }
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (fault != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return Reference{node, index + number};
}

template <class IsTaken>
std::string_view TableEditor::free_name(std::string_view wanted, IsTaken is_taken) {
  std::string name(wanted);
  while (is_taken(name)) name = fmt::format("{}_{}", wanted, ++last_number_);
  return keep(name);
}

NodeDef& TableEditor::add(std::string_view wanted_name, std::string_view op) {
  NodeDef& node = nodes_.emplace_back();
  node.name = free_name(wanted_name, [&](const std::string& name) { return by_name_.contains(name); });
  node.op = op;
  by_name_.emplace(node.name, &node);
  return node;
}

FunctionDef& TableEditor::add_function(std::string_view wanted_name) {
  const auto name = free_name(wanted_name, [&](const std::string& taken) { return graph_.functions.contains(taken); });
  auto& function = graph_.functions[name];
  function = std::make_unique<FunctionDef>();
  function->name = name;
  return *function;
}

std::string_view TableEditor::function_attribute(std::string_view name) {
  constexpr std::uint32_t func = 10, func_name = 1;
  containers::ProtoMessage list, value;
  list.text(func_name, name);
  value.message(func, std::move(list));
  return keep(value.bytes());
}

void TableEditor::finish() {
  table_.nodes.assign(std::make_move_iterator(nodes_.begin()), std::make_move_iterator(nodes_.end()));
  table_.by_name.clear();
  table_.index();
}

}  // namespace onnxkit::saved_model
