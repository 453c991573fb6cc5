#include "libonnxkit/bench/costs.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "libonnxkit/bench/graph_costs.h"
#include "libonnxkit/bench/owners.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::benching {
namespace {

/// What steps read and write, each value once.
class Traffic {
 public:
  Traffic(GraphCosts& costs, const ir::Uses& uses, const std::vector<bool>& is_owned)
      : costs_(costs), uses_(uses), is_owned_(is_owned) {}

  /// What crosses the border of a group of nodes.
  std::optional<double> bytes_of(const std::vector<std::size_t>& nodes) {
    inside_ = {nodes.begin(), nodes.end()};
    read_.clear();
    double total = 0;
    for (const std::size_t node : nodes) {
      for (const ir::ValueId id : uses_.reads(node)) {
        const bool is_shown = costs_.is_view(node) && id == costs_.graph().nodes[node].inputs.front();
        const auto bytes = is_shown ? std::optional(0.0) : bytes_from_outside(node, id);
        if (!bytes) return std::nullopt;
        total += *bytes;
      }
      for (const ir::ValueId id : costs_.graph().nodes[node].outputs) {
        if (id == ir::ValueId::none || costs_.is_view(node) || !leaves(id)) continue;
        const auto bytes = costs_.bytes(id);
        if (!bytes) return std::nullopt;
        total += *bytes;
      }
    }
    return total;
  }

 private:
  bool is_inside(std::int32_t node) const { return node >= 0 && inside_.contains(static_cast<std::size_t>(node)); }

  /// 0 for what a node of the group writes, and for what was counted before.
  std::optional<double> bytes_from_outside(std::size_t node, ir::ValueId id) {
    const ir::ValueId seen = behind_views(id);
    if (is_inside(uses_.producer(seen)) || !read_.insert(ir::index_of(seen)).second) return 0;
    const auto bytes = costs_.read_bytes(node, id);
    const auto narrow = bytes_before_widening(seen);
    return bytes && narrow ? std::min(*bytes, *narrow) : bytes;
  }

  /// The value that is looked at through views of the group.
  ir::ValueId behind_views(ir::ValueId id) const {
    for (;;) {
      const std::int32_t writer = uses_.producer(id);
      if (!is_inside(writer) || !costs_.is_view(static_cast<std::size_t>(writer))) return id;
      id = costs_.graph().nodes[static_cast<std::size_t>(writer)].inputs.front();
    }
  }

  /// Of a value that no step makes out of one of a narrower type: several steps read that one.
  std::optional<double> bytes_before_widening(ir::ValueId id) {
    const std::int32_t writer = uses_.producer(id);
    if (writer < 0 || is_owned_[static_cast<std::size_t>(writer)] || !costs_.widens(static_cast<std::size_t>(writer)))
      return std::nullopt;
    double sum = 0;
    for (const ir::ValueId input : uses_.reads(static_cast<std::size_t>(writer))) {
      const auto bytes = costs_.bytes(input);
      if (!bytes) return std::nullopt;
      sum += *bytes;
    }
    return sum;
  }

  /// Something outside of the group reads it, or a view of it.
  bool leaves(ir::ValueId id) const {
    std::vector<ir::ValueId> shown = {id};
    while (!shown.empty()) {
      const ir::ValueId at = shown.back();
      shown.pop_back();
      if (uses_.is_output(at)) return true;
      for (const std::uint32_t reader : uses_.consumers(at)) {
        if (!is_inside(static_cast<std::int32_t>(reader))) return true;
        const ir::Node& node = costs_.graph().nodes[reader];
        const bool is_shown = costs_.is_view(reader) && node.inputs.front() == at && !node.outputs.empty();
        if (is_shown && node.outputs.front() != ir::ValueId::none) shown.push_back(node.outputs.front());
      }
    }
    return false;
  }

  GraphCosts& costs_;
  const ir::Uses& uses_;
  const std::vector<bool>& is_owned_;
  std::unordered_set<std::size_t> inside_;
  std::unordered_set<std::uint32_t> read_;
};

StepCost cost_of(GraphCosts& costs, Traffic& traffic, const std::vector<NodeShare>& shares) {
  StepCost cost;
  if (shares.empty()) return cost;
  cost.operations = 0;
  std::vector<std::size_t> nodes;
  bool are_whole = true;
  for (const auto& [n, share, is_whole] : shares) {
    const ir::Node& node = costs.graph().nodes[n];
    const std::string_view title = ir::title_of(costs.graph(), node);
    cost.nodes.emplace_back(title.empty() ? node.op_type.view() : title);
    const auto products = costs.products(n);
    cost.operations =
        products && cost.operations ? std::optional(*cost.operations + 2 * share * *products) : std::nullopt;
    nodes.push_back(n);
    are_whole = are_whole && is_whole;
  }
  // Which part of a node's values one of its steps reads and writes only the backend knows.
  if (are_whole) cost.bytes = traffic.bytes_of(nodes);
  return cost;
}

}  // namespace

std::vector<StepCost> step_costs(const ir::Model& model, const spec::OpTable& table,
                                 const std::vector<NamedValue>& inputs, std::span<const exec::StepTime> steps) {
  std::vector<StepCost> found(steps.size());
  if (!model.graph) return found;
  GraphCosts costs(model, table, inputs);
  const ir::Uses uses(*model.graph);
  const StepOwners owners = step_owners(costs, uses, steps);
  Traffic traffic(costs, uses, owners.is_owned);
  for (std::size_t step = 0; step < steps.size(); ++step) found[step] = cost_of(costs, traffic, owners.nodes[step]);
  return found;
}

}  // namespace onnxkit::benching
