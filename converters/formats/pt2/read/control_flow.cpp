// Branches and loops.
#include "converters/foreign/control_flow.h"

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Graph;
using foreign::Val;

const Graph* graph_argument(Call& call, std::size_t index) {
  if (index >= call.node.arguments.size()) return nullptr;
  const auto* graph = call.node.arguments[index].as<std::unique_ptr<Graph>>();
  return graph ? graph->get() : nullptr;
}

/// The values of a list that is the argument at this place.
std::vector<Val> list_argument(Call& call, std::size_t index) {
  if (index >= call.node.arguments.size()) return {};
  return call.values_of(call.node.arguments[index]);
}

void map_cond(Call& call) {
  const Graph* then_graph = graph_argument(call, 1);
  const Graph* else_graph = graph_argument(call, 2);
  if (!then_graph || !else_graph) return call.refuse("a branch is missing");
  foreign::branch(call, call.value_of(call.node.arguments[0]), *then_graph, *else_graph, list_argument(call, 3));
}

void map_while(Call& call) {
  const Graph* condition = graph_argument(call, 0);
  const Graph* body = graph_argument(call, 1);
  if (!condition || !body) return call.refuse("the condition or the body is missing");
  foreign::WhileLoop loop{list_argument(call, 2), {}, list_argument(call, 3)};
  for (const Val value : loop.carried) loop.types.push_back(call.onnx.type(value));
  loop.may_resize = call.node.find("carried") != nullptr;  // TorchScript's, whose code keeps to no sizes
  foreign::repeat_while(call, *condition, *body, std::move(loop));
}

/// Carried values first, if it has such, then slices along axis 0; the results likewise.
void scan_from(Call& call, const std::vector<Val>& carried, std::size_t sliced_index) {
  const Graph* body = graph_argument(call, 0);
  const std::vector<Val> sliced = list_argument(call, sliced_index);
  if (!body || sliced.empty()) return call.refuse("the body or what it runs over is missing");
  foreign::scan(call, *body, carried, sliced, list_argument(call, sliced_index + 1));
}

void map_map(Call& call) { scan_from(call, {}, 1); }
void map_scan(Call& call) { scan_from(call, list_argument(call, 1), 2); }

}  // namespace

void register_control_flow(Mappings& mappings);
void register_control_flow(Mappings& mappings) {
  mappings.add("higher_order.cond", map_cond);
  mappings.add("higher_order.while_loop", map_while);
  mappings.add("higher_order.map_impl", map_map);
  mappings.add("higher_order.scan", map_scan);
}

}  // namespace onnxkit::pt2
