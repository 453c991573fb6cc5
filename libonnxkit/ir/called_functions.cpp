#include "libonnxkit/ir/called_functions.h"

#include <map>
#include <string_view>
#include <tuple>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::ir {
namespace {

using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

template <class Visit>
void for_each_node_inside(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    visit(node);
    for_each_subgraph(node, [&](const Graph& inner, std::size_t) { for_each_node_inside(inner, visit); });
  }
}

}  // namespace

std::vector<bool> called_functions(const Model& model, const Graph& graph) {
  std::map<FunctionKey, std::size_t> index;
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    const Function& function = model.functions[i];
    index.try_emplace({canonical_domain(function.domain), function.name.view(), function.overload.view()}, i);
  }
  std::vector<bool> called(model.functions.size());
  // An explicit list: a chain of calls may be as long as the file has functions.
  std::vector<const Graph*> open;
  if (!index.empty()) open.push_back(&graph);
  while (!open.empty()) {
    const Graph& body = *open.back();
    open.pop_back();
    for_each_node_inside(body, [&](const Node& node) {
      const auto found = index.find({canonical_domain(node.domain), node.op_type.view(), node.overload.view()});
      if (found == index.end() || called[found->second]) return;
      called[found->second] = true;
      open.push_back(&model.functions[found->second].body);
    });
  }
  return called;
}

}  // namespace onnxkit::ir
