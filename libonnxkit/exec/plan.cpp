#include "libonnxkit/exec/plan.h"

#include "libonnxkit/ir/order.h"

namespace onnxkit::exec {

using ir::index_of;
using ir::ValueId;

GraphPlan plan_graph(const ir::Graph& graph) {
  constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  constexpr std::size_t forever = nobody - 1;
  GraphPlan plan;
  std::vector<std::size_t> last_reader(graph.values.size(), nobody);
  const auto note = [&](ValueId id, std::size_t step) {
    if (id != ValueId::none) last_reader[index_of(id)] = step;
  };
  for (const std::size_t node : ir::evaluation_order(graph)) {
    const std::size_t step = plan.steps.size();
    plan.steps.push_back({node, {}});
    for (const ValueId id : graph.nodes[node].outputs) note(id, step);
    for (const ValueId id : graph.nodes[node].inputs) note(id, step);
    for (const ValueId id : ir::captured_values(graph, graph.nodes[node])) note(id, step);
  }
  for (const ir::ValueInfo& output : graph.outputs) note(output.value, forever);
  for (std::size_t id = 0; id < last_reader.size(); ++id) {
    if (last_reader[id] < plan.steps.size()) plan.steps[last_reader[id]].last_reads.push_back(static_cast<ValueId>(id));
  }
  return plan;
}

}  // namespace onnxkit::exec
