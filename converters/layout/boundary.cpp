#include "converters/layout/boundary.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::layout {
namespace {

std::optional<Permutation> stated_permutation(const ir::Node& node) {
  if (node.op_type != "Transpose" || !ir::canonical_domain(node.domain.view()).empty()) return std::nullopt;
  const ir::Attribute* given = node.find_attribute("perm");
  const auto* list = given ? given->as<std::vector<std::int64_t>>() : nullptr;
  return list && is_permutation(*list, list->size()) ? std::optional(*list) : std::nullopt;
}

/// The order that all readers of an input want it in.
std::optional<Permutation> order_of_readers(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId input) {
  std::optional<Permutation> order;
  if (uses.is_output(input) || uses.initializers().contains(input)) return std::nullopt;
  for (const std::uint32_t reader : uses.consumers(input)) {
    const auto own = stated_permutation(graph.nodes[reader]);
    if (!own || (order && *order != *own)) return std::nullopt;
    order = own;
  }
  return order;
}

/// One graph whose boundary changes.
class Boundary {
 public:
  explicit Boundary(ir::Model& model) : model_(model), graph_(*model.graph), names_(model) {}

  bool reorder(const BoundaryOrder& wanted) {
    auto& ports = wanted.is_output ? graph_.outputs : graph_.inputs;
    const ir::ValueId id = graph_.find(wanted.name);
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const ir::ValueInfo& p) { return p.value == id; });
    if (id == ir::ValueId::none || port == ports.end() || !is_plain(id, wanted.is_output)) return false;
    if (!permute_declaration(*port, wanted.order)) return false;
    const ir::ValueId inner = graph_.intern(names_.make(wanted.name + "_inside"));
    for (ir::Node& node : graph_.nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), id, inner);
      if (wanted.is_output) std::replace(node.outputs.begin(), node.outputs.end(), id, inner);
    }
    std::erase_if(graph_.value_infos, [&](const ir::ValueInfo& info) { return info.value == id; });
    if (wanted.is_output)
      graph_.nodes.push_back(ir::make_node(model_, "Transpose", {inner}, {id}, {{"perm", wanted.order}}));
    else
      graph_.nodes.insert(graph_.nodes.begin(),
                          ir::make_node(model_, "Transpose", {id}, {inner}, {{"perm", inverse_of(wanted.order)}}));
    return true;
  }

 private:
  /// Computed by a node, or given alone, and not read by bodies.
  bool is_plain(ir::ValueId id, bool is_output) const {
    const ir::Uses uses(graph_);
    if (uses.initializers().contains(id) || (uses.producer(id) >= 0) != is_output) return false;
    if (!is_output && uses.is_output(id)) return false;
    const auto same = [&](const ir::ValueInfo& port) { return port.value == id; };
    if (std::count_if(graph_.outputs.begin(), graph_.outputs.end(), same) > 1) return false;
    return std::none_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const ir::Node& node) {
      const auto captured = ir::captured_values(graph_, node);
      return std::find(captured.begin(), captured.end(), id) != captured.end();
    });
  }

  static bool permute_declaration(ir::ValueInfo& port, const Permutation& order) {
    if (!port.type || !port.type->shape) return true;
    std::vector<ir::DeclaredDim>& dims = port.type->shape->dims;
    if (dims.size() != order.size()) return false;
    std::vector<ir::DeclaredDim> permuted;
    for (const std::int64_t axis : order) permuted.push_back(dims[static_cast<std::size_t>(axis)]);
    dims = std::move(permuted);
    return true;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  ir::FreshNames names_;
};

}  // namespace

std::vector<BoundaryOrder> orders_at_boundary(const ir::Model& model) {
  std::vector<BoundaryOrder> found;
  if (!model.graph) return found;
  const ir::Graph& graph = *model.graph;
  const ir::Uses uses(graph);
  for (const ir::ValueInfo& input : graph.inputs)
    if (auto order = order_of_readers(graph, uses, input.value))
      found.push_back({std::string(graph.name_of(input.value)), false, *std::move(order)});
  for (const ir::ValueInfo& output : graph.outputs) {
    const std::int32_t by = uses.producer(output.value);
    const auto order = by < 0 ? std::nullopt : stated_permutation(graph.nodes[static_cast<std::size_t>(by)]);
    if (order) found.push_back({std::string(graph.name_of(output.value)), true, inverse_of(*order)});
  }
  return found;
}

std::vector<BoundaryOrder> reorder_boundary(ir::Model& model, const std::vector<BoundaryOrder>& orders) {
  std::vector<BoundaryOrder> changed;
  if (!model.graph) return changed;
  Boundary boundary(model);
  std::copy_if(orders.begin(), orders.end(), std::back_inserter(changed),
               [&](const BoundaryOrder& wanted) { return boundary.reorder(wanted); });
  return changed;
}

}  // namespace onnxkit::layout
