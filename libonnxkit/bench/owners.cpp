#include "libonnxkit/bench/owners.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "libonnxkit/ir/scope.h"

namespace onnxkit::benching {
namespace {

/// Which steps compute each node.
class Owners {
 public:
  Owners(GraphCosts& costs, const ir::Uses& uses, std::span<const exec::StepTime> steps)
      : costs_(costs),
        uses_(uses),
        owner_(costs.graph().nodes.size(), none),
        helpers_(owner_.size()),
        is_in_parts_(owner_.size(), false),
        fuses_(steps.size(), false),
        has_contraction_(steps.size(), false) {
    name(steps);
    for (std::size_t node = 0; node < owner_.size(); ++node) take_narrowing(node);
    for (std::size_t node = owner_.size(); node-- > 0;) look_behind(node);
    for (std::size_t node = 0; node < owner_.size(); ++node) look_before(node);
  }

  StepOwners found(std::span<const exec::StepTime> steps) const {
    StepOwners found{std::vector<std::vector<NodeShare>>(fuses_.size()), std::vector<bool>(owner_.size())};
    for (std::size_t node = 0; node < owner_.size(); ++node) {
      if (owner_[node] == none) continue;
      found.is_owned[node] = true;
      const bool is_shared = !helpers_[node].empty();
      double all = steps[owner_[node]].products;
      for (const std::size_t helper : helpers_[node]) all += steps[helper].products;
      const bool is_whole = !is_shared && !is_in_parts_[node];
      found.nodes[owner_[node]].push_back({node, is_shared ? steps[owner_[node]].products / all : 1, is_whole});
      for (const std::size_t helper : helpers_[node])
        found.nodes[helper].push_back({node, steps[helper].products / all, false});
    }
    return found;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Nodes by their names, else by the values that they write.
  std::unordered_map<std::string_view, std::size_t> nodes_by_name() const {
    const ir::Graph& graph = costs_.graph();
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (!graph.nodes[n].name.empty()) by_name.emplace(graph.nodes[n].name.view(), n);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ir::ValueId id : graph.nodes[n].outputs)
        if (id != ir::ValueId::none) by_name.emplace(graph.name_of(id), n);
    }
    return by_name;
  }

  using NodesOfSteps = std::vector<std::vector<std::size_t>>;

  /// Of each step the nodes that it is named after, each once.
  NodesOfSteps named_nodes(std::span<const exec::StepTime> steps) {
    const auto by_name = nodes_by_name();
    NodesOfSteps named(steps.size());
    for (std::size_t step = 0; step < steps.size(); ++step) {
      for (const std::string& covered : steps[step].covers) {
        const auto found = by_name.find(covered);
        if (found == by_name.end()) continue;
        std::vector<std::size_t>& nodes = named[step];
        if (std::find(nodes.begin(), nodes.end(), found->second) == nodes.end()) nodes.push_back(found->second);
      }
    }
    find_parts(named, steps);
    leave_to_others(named, [&](std::size_t step) { return only_product(steps[step], named[step]); });
    leave_to_others(named, [&](std::size_t step) {
      const bool is_one = named[step].size() == 1 && !costs_.is_contraction(named[step].front());
      return is_one ? named[step].front() : none;
    });
    return named;
  }

  /// Nodes that steps write together, each of which tells its bytes: as the copies of a Concat.
  void find_parts(const NodesOfSteps& named, std::span<const exec::StepTime> steps) {
    std::vector<std::size_t> telling(owner_.size(), 0), all(owner_.size(), 0);
    for (std::size_t step = 0; step < named.size(); ++step) {
      for (const std::size_t node : named[step]) {
        ++all[node];
        if (steps[step].bytes) ++telling[node];
      }
    }
    for (std::size_t node = 0; node < owner_.size(); ++node)
      is_in_parts_[node] = all[node] > 1 && telling[node] == all[node] && !costs_.is_contraction(node);
  }

  /// The only product of a step that multiplies.
  std::size_t only_product(const exec::StepTime& step, const std::vector<std::size_t>& nodes) const {
    std::size_t only = none;
    for (const std::size_t node : nodes) {
      if (!costs_.is_contraction(node)) continue;
      if (only != none) return none;
      only = node;
    }
    return step.products > 0 ? only : none;
  }

  /// A step that is named after several nodes prepares the inputs of those, or ends what others began, that another step has for its only one: such as
  /// a product that rounds its results for the next one.
  template <class Only>
  void leave_to_others(NodesOfSteps& named, Only only) const {
    std::vector<bool> is_left(owner_.size(), false);
    std::vector<std::vector<std::size_t>> named_by(owner_.size());  // the steps of each node
    for (std::size_t step = 0; step < named.size(); ++step)
      for (const std::size_t node : named[step]) named_by[node].push_back(step);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t step = 0; step < named.size(); ++step) {
        const std::size_t node = only(step);
        if (node == none || is_left[node]) continue;
        is_left[node] = has_changed = true;
        for (const std::size_t other : named_by[node])
          if (named[other].size() > 1 && only(other) != node) std::erase(named[other], node);
      }
    }
  }

  void name(std::span<const exec::StepTime> steps) {
    const ir::Graph& graph = costs_.graph();
    const std::vector<std::size_t> by_place = places();
    const NodesOfSteps named = named_nodes(steps);
    for (const std::size_t step : by_claim(steps)) {
      bool is_node = false, any = false;
      for (const std::size_t n : named[step]) {
        if (!claim(n, step, steps)) continue;
        const ir::Node& node = graph.nodes[n];
        any = true;
        is_node = is_node || steps[step].op == node.op_type.view() || steps[step].op == ir::qualified_op(node);
      }
      if (const auto place = steps[step].place; place && *place < by_place.size()) {
        const std::size_t n = by_place[*place];
        const bool is_it = graph.nodes[n].name.empty() && steps[step].op == graph.nodes[n].op_type.view();
        if (is_it && owner_[n] == none) {
          take(n, step);
          is_node = true;
        }
      }
      // A step of another operator than the nodes that it is called after does more than these.
      fuses_[step] = any && !is_node;
    }
  }

  /// The nodes that exec::StepTime::place counts.
  std::vector<std::size_t> places() const {
    std::vector<std::size_t> places;
    for (std::size_t n = 0; n < costs_.graph().nodes.size(); ++n)
      if (costs_.graph().nodes[n].op_type != "Constant") places.push_back(n);
    return places;
  }

  /// Of several steps that cover one node the first here has its work: one that multiplies, else the one that takes longest.
  static std::vector<std::size_t> by_claim(std::span<const exec::StepTime> steps) {
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto seconds = [](const exec::StepTime& step) {
      double sum = 0;
      for (const exec::StepSpan& span : step.spans) sum += span.seconds;
      return sum;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const bool a_multiplies = steps[a].products > 0, b_multiplies = steps[b].products > 0;
      if (a_multiplies != b_multiplies) return a_multiplies;
      return seconds(steps[a]) > seconds(steps[b]);
    });
    return order;
  }

  /// Whether the step has the node, or a part of it.
  bool claim(std::size_t node, std::size_t step, std::span<const exec::StepTime> steps) {
    const std::size_t owner = owner_[node];
    if (owner == none || owner == step) return take(node, step), true;
    if (steps[owner].products <= 0 || steps[step].products <= 0) return false;
    std::vector<std::size_t>& helpers = helpers_[node];
    if (std::find(helpers.begin(), helpers.end(), step) == helpers.end()) helpers.push_back(step);
    if (costs_.is_contraction(node)) has_contraction_[step] = true;
    return true;
  }

  void take(std::size_t node, std::size_t step) {
    owner_[node] = step;
    if (costs_.is_contraction(node)) has_contraction_[step] = true;
  }

  std::size_t only_owner(std::size_t node) const { return helpers_[node].empty() ? owner_[node] : none; }

  /// A node that rounds to a narrower type goes with the fused step that writes its input, as do the nodes between.
  void take_narrowing(std::size_t node) {
    if (owner_[node] != none || !costs_.narrows(node)) return;
    std::vector<std::size_t> way;
    while (owner_[node] == none && !costs_.is_contraction(node)) {
      way.push_back(node);
      const auto& inputs = costs_.graph().nodes[node].inputs;
      if (inputs.empty() || inputs.front() == ir::ValueId::none || uses_.is_output(inputs.front())) return;
      const std::int32_t writer = uses_.producer(inputs.front());
      if (writer < 0 || uses_.consumers(inputs.front()).size() != 1) return;
      node = static_cast<std::size_t>(writer);
    }
    const std::size_t step = only_owner(node);
    if (step == none || !fuses_[step]) return;
    for (const std::size_t one : way) take(one, step);
  }

  /// A node whose results only one fused step reads, and that no product of it follows, unless it makes the product's operands from narrower ones.
  void look_behind(std::size_t node) {
    std::size_t step = none;
    if (owner_[node] != none) return;
    for (const ir::ValueId id : costs_.graph().nodes[node].outputs) {
      if (id == ir::ValueId::none) continue;
      if (uses_.is_output(id)) return;
      for (const std::uint32_t reader : uses_.consumers(id)) {
        const std::size_t owner = only_owner(reader);
        if (owner == none || (step != none && owner != step)) return;
        if (costs_.is_contraction(reader) && !costs_.widens(node)) return;
        step = owner;
      }
    }
    if (step == none || !fuses_[step] || (costs_.is_contraction(node) && has_contraction_[step])) return;
    take(node, step);
  }

  /// A node without products that reads of one fused step only. What several steps read in a wider type is stored in the narrower one.
  void look_before(std::size_t node) {
    std::size_t step = none;
    if (owner_[node] != none || costs_.is_contraction(node)) return;
    for (const ir::ValueId id : uses_.reads(node)) {
      const std::int32_t writer = uses_.producer(id);
      if (writer < 0) continue;
      const std::size_t owner = only_owner(static_cast<std::size_t>(writer));
      if (owner == none || (step != none && owner != step)) return;
      step = owner;
    }
    if (step != none && fuses_[step] && !(costs_.widens(node) && is_read_by_others(node, step))) take(node, step);
  }

  bool is_read_by_others(std::size_t node, std::size_t step) const {
    const auto readers = uses_.consumers(costs_.graph().nodes[node].outputs.front());
    return std::any_of(readers.begin(), readers.end(),
                       [&](std::uint32_t reader) { return owner_[reader] != none && owner_[reader] != step; });
  }

  GraphCosts& costs_;
  const ir::Uses& uses_;
  std::vector<std::size_t> owner_;
  std::vector<std::vector<std::size_t>> helpers_;  ///< by node: further steps that multiply for it
  std::vector<bool> is_in_parts_;                  ///< by node: find_parts()
  std::vector<bool> fuses_, has_contraction_;
};

}  // namespace

StepOwners step_owners(GraphCosts& costs, const ir::Uses& uses, std::span<const exec::StepTime> steps) {
  return Owners(costs, uses, steps).found(steps);
}

}  // namespace onnxkit::benching
