#include "converters/foreign/trace.h"

namespace onnxkit::foreign {

void add_results(const Graph& graph, Trace& trace) {
  for (const Node& node : graph.nodes) {
    if (node.origin < trace.size() && trace[node.origin].refusal.empty()) {
      const std::string_view name = !node.name.empty()     ? node.name
                                    : node.outputs.empty() ? std::string_view()
                                                           : graph.name_of(node.outputs.front());
      trace[node.origin].to.push_back({std::string(node.op), std::string(name)});
    }
    for (const Argument& argument : node.arguments)
      if (const auto* body = argument.as<std::unique_ptr<Graph>>()) add_results(**body, trace);
  }
}

}  // namespace onnxkit::foreign
