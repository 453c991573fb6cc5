#include "converters/formats/pt2/wrapped.h"

#include <iterator>
#include <optional>
#include <vector>

namespace onnxkit::pt2 {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::index_of;
using foreign::Node;
using foreign::ValueId;

/// Where among the arguments of a node the graph stands that it runs as it is; operands follow. Nothing for other nodes.
std::optional<std::size_t> place_of_body(const Node& node) {
  const auto graph_at = [&](std::size_t place) {
    return place < node.arguments.size() && node.arguments[place].as<std::unique_ptr<Graph>>();
  };
  if (node.op == "higher_order.wrap_with_set_grad_enabled" && graph_at(1)) return 1;
  constexpr std::size_t enabled = 2, body = 4;  // behind the device and the type
  if (node.op != "higher_order.wrap_with_autocast" || !graph_at(body)) return std::nullopt;
  const bool* is_on = node.arguments[enabled].as<bool>();
  return is_on && !*is_on ? std::optional(body) : std::nullopt;
}

/// Moves the nodes of one graph to another, where its values have other numbers.
class Inliner {
 public:
  Inliner(Graph& target, Graph& body, std::vector<Node>& nodes)
      : target_(target), body_(body), nodes_(nodes), ids_(body.values.size(), ValueId::none) {}

  void run(const Node& wrapper, std::size_t first_operand) {
    for (std::size_t i = 0; i < body_.inputs.size() && first_operand + i < wrapper.arguments.size(); ++i)
      if (const auto* given = wrapper.arguments[first_operand + i].as<ValueId>())
        ids_[index_of(body_.inputs[i])] = *given;
    for (Node& node : body_.nodes) {
      for (ValueId& output : node.outputs) output = moved(output);
      for (Argument& argument : node.arguments) move(argument);
      nodes_.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < wrapper.outputs.size() && i < body_.outputs.size(); ++i)
      give(wrapper, moved(body_.outputs[i].value), wrapper.outputs[i]);
  }

 private:
  ValueId moved(ValueId id) {
    if (id == ValueId::none) return id;
    ValueId& known = ids_[index_of(id)];
    if (known == ValueId::none) {
      target_.values.push_back(std::move(body_.values[index_of(id)]));
      known = ValueId{static_cast<std::uint32_t>(target_.values.size() - 1)};
    }
    return known;
  }

  void move(Argument& argument) {
    if (auto* id = std::get_if<ValueId>(&argument.content)) *id = moved(*id);
    if (auto* list = std::get_if<Argument::List>(&argument.content))
      for (Argument& item : *list) move(item);
  }

  /// The result of the wrapper is the same tensor, which may be written into.
  void give(const Node& wrapper, ValueId from, ValueId to) {
    Node& alias = nodes_.emplace_back();
    alias.op = "aten.alias.default";
    alias.name = wrapper.name;
    alias.scope = wrapper.scope;
    alias.source = wrapper.source;
    alias.arguments.push_back({from, "self"});
    alias.outputs = {to};
  }

  Graph& target_;
  Graph& body_;
  std::vector<Node>& nodes_;
  std::vector<ValueId> ids_;
};

}  // namespace

void inline_wrapped(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    for (Argument& argument : node.arguments)
      if (auto* body = std::get_if<std::unique_ptr<Graph>>(&argument.content)) inline_wrapped(**body);
    const auto place = place_of_body(node);
    if (!place) {
      nodes.push_back(std::move(node));
      continue;
    }
    const auto body = std::get_if<std::unique_ptr<Graph>>(&node.arguments[*place].content);
    Inliner(graph, **body, nodes).run(node, *place + 1);
  }
  graph.nodes = std::move(nodes);
}

}  // namespace onnxkit::pt2
