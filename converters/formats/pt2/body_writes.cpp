#include "converters/formats/pt2/body_writes.h"

#include <algorithm>

#include <fmt/format.h>

#include "converters/formats/pt2/functionalize.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

Graph* graph_in(Node& node, std::size_t place) {
  if (place >= node.arguments.size()) return nullptr;
  auto* body = std::get_if<std::unique_ptr<Graph>>(&node.arguments[place].content);
  return body ? body->get() : nullptr;
}

Argument::List* list_in(Node& node, std::size_t place) {
  return place < node.arguments.size() ? std::get_if<Argument::List>(&node.arguments[place].content) : nullptr;
}

/// Writes that are results of a node from then on.
class BodyRewriter {
 public:
  BodyRewriter(Graph& graph, Node& node, StringPool& strings) : graph_(graph), node_(node), strings_(strings) {}

  Result<BodyWrites> run() {
    for (std::size_t place = 0; place < node_.arguments.size(); ++place) {
      Graph* body = graph_in(node_, place);
      if (!body) continue;
      auto written = functionalize(*body, strings_);
      if (!written) return std::move(written).error();
      for (const Written& one : *written) {
        const bool is_taken = node_.op == "higher_order.cond"         ? take_from_branch(*body, one)
                              : node_.op == "higher_order.while_loop" ? place == 1 && take_from_pass(*body, one)
                                                                      : false;
        if (!is_taken)
          return make_error("not-supported", fmt::format("a branch or loop writes into {}, which lies outside of it",
                                                         quote(body->name_of(one.input))));
      }
    }
    return std::move(writes_);
  }

 private:
  static std::size_t place_of(const Graph& body, ValueId input) {
    return static_cast<std::size_t>(std::find(body.inputs.begin(), body.inputs.end(), input) - body.inputs.begin());
  }

  /// The other branch gives what it was given, unless it writes, too.
  bool take_from_branch(Graph& body, const Written& write) {
    Graph* branches[] = {graph_in(node_, 1), graph_in(node_, 2)};
    const Argument::List* operands = list_in(node_, 3);
    const std::size_t place = place_of(body, write.input);
    if (!branches[0] || !branches[1] || !operands || place >= operands->size()) return false;
    if (branches[0]->inputs.size() != operands->size() || branches[1]->inputs.size() != operands->size()) return false;
    const ValueId* operand = (*operands)[place].as<ValueId>();
    if (!operand) return false;
    const auto known = std::find(writes_.operands.begin(), writes_.operands.end(), *operand);
    if (known != writes_.operands.end()) {
      const std::size_t result = first_result_ + static_cast<std::size_t>(known - writes_.operands.begin());
      body.outputs[result].value = write.content;
      return true;
    }
    if (writes_.operands.empty()) first_result_ = node_.outputs.size();
    for (Graph* branch : branches) {
      if (branch->outputs.size() != node_.outputs.size()) return false;
      const ValueId content = branch == &body ? write.content : branch->inputs[place];
      branch->outputs.push_back({content, branch->name_of(content)});
    }
    node_.outputs.push_back(copied_to(*operand));
    return true;
  }

  /// A constant of the loop becomes one that a pass gives to the next.
  bool take_from_pass(Graph& body, const Written& write) {
    Graph* condition = graph_in(node_, 0);
    Argument::List *carried = list_in(node_, 2), *constants = list_in(node_, 3);
    const std::size_t place = place_of(body, write.input);
    if (!condition || !carried || !constants || place >= body.inputs.size()) return false;
    const std::size_t last = carried->size();
    if (condition->inputs.size() != body.inputs.size() || body.inputs.size() != last + constants->size()) return false;
    if (place < last || body.outputs.size() < last || node_.outputs.size() < last) return false;
    const std::size_t constant = place - last;
    const ValueId* operand = (*constants)[constant].as<ValueId>();
    if (!operand) return false;
    const ValueId result = copied_to(*operand);
    for (Graph* inside : {condition, &body}) {
      const auto first = inside->inputs.begin() + static_cast<std::ptrdiff_t>(last);
      std::rotate(first, first + static_cast<std::ptrdiff_t>(constant),
                  first + static_cast<std::ptrdiff_t>(constant) + 1);
    }
    carried->push_back(std::move((*constants)[constant]));
    constants->erase(constants->begin() + static_cast<std::ptrdiff_t>(constant));
    const auto behind = static_cast<std::ptrdiff_t>(last);
    body.outputs.insert(body.outputs.begin() + behind, {write.content, body.name_of(write.content)});
    node_.outputs.insert(node_.outputs.begin() + behind, result);
    return true;
  }

  /// A result of the node, and the write of it behind the node.
  ValueId copied_to(ValueId operand) {
    const ValueId result = new_value(), content = new_value();
    Node& copy = writes_.copies.emplace_back();
    copy.op = "aten.copy_.default";
    copy.name = node_.name;
    copy.source = node_.source;
    copy.scope = node_.scope;
    copy.arguments.resize(2);
    copy.arguments[0].name = "self";
    copy.arguments[0].content = operand;
    copy.arguments[1].name = "src";
    copy.arguments[1].content = result;
    copy.outputs = {content};
    writes_.operands.push_back(operand);
    return result;
  }

  ValueId new_value() {
    return graph_.add_value(strings_.keep(fmt::format("{}.{}", node_.name, graph_.values.size())).view());
  }

  Graph& graph_;
  Node& node_;
  StringPool& strings_;
  BodyWrites writes_;
  std::size_t first_result_ = 0;
};

}  // namespace

Result<BodyWrites> expose_body_writes(Graph& graph, Node& node, StringPool& strings) {
  return BodyRewriter(graph, node, strings).run();
}

}  // namespace onnxkit::pt2
