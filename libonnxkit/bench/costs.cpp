#include "libonnxkit/bench/costs.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "checker/collector.h"
#include "checker/infer/cost.h"
#include "checker/infer/inference.h"
#include "checker/infer/input_types.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::benching {
namespace {

using checker::GraphInfo;
using ir::Dim;

std::optional<double> known(Dim dim) {
  return dim.is_constant() ? std::optional(static_cast<double>(dim.constant())) : std::nullopt;
}

/// What the nodes of the main graph need, and the bytes of its values.
class GraphCosts {
 public:
  GraphCosts(const ir::Model& model, const spec::OpTable& table, const std::vector<NamedValue>& inputs)
      : graph_(*model.graph) {
    checker::Collector collector;
    checker::InferenceOptions options;
    options.assume_defaults = true;
    options.input_types = checker::input_types(model, inputs);
    inferred_ = checker::infer_types(model, table, options, collector);
    const auto found = inferred_.graphs.find(&graph_);
    info_ = found == inferred_.graphs.end() ? nullptr : &found->second;
    const spec::FunctionIndex functions(model);
    for (const ir::Node& node : graph_.nodes) {
      const checker::InferTraits& traits = checker::traits_of(node, model.opset_imports, table);
      const bool is_counted = info_ && !functions.find(node);  // nobody adds up what bodies of functions multiply
      products_.push_back(is_counted ? checker::multiply_adds(traits, node, *info_, inferred_.dims) : Dim());
      gathers_.push_back(std::any_of(traits.inputs.begin(), traits.inputs.end(), [](const checker::InputRole& role) {
        return role.role == checker::Role::index || role.role == checker::Role::index_nd;
      }));
    }
  }

  const ir::Graph& graph() const { return graph_; }
  /// It has products, or nobody knows.
  bool is_contraction(std::size_t node) const { return !products_[node].is(0); }
  std::optional<double> products(std::size_t node) const { return known(products_[node]); }
  std::optional<double> bytes(ir::ValueId id) {
    if (!info_ || ir::index_of(id) >= info_->values.size()) return std::nullopt;
    return known(checker::value_bytes(info_->values[ir::index_of(id)].type, inferred_.dims));
  }
  /// Of an input of a node, no more than it looks at.
  std::optional<double> read_bytes(std::size_t node, ir::ValueId id) {
    const auto all = bytes(id);
    const ir::Node& reader = graph_.nodes[node];
    if (!all || !gathers_[node] || reader.inputs.front() != id) return all;
    double written = 0;
    for (const ir::ValueId output : reader.outputs) written += bytes(output).value_or(0);
    return std::min(*all, written);
  }

 private:
  const ir::Graph& graph_;
  checker::InferredModel inferred_;
  const GraphInfo* info_ = nullptr;
  std::vector<Dim> products_;
  std::vector<bool> gathers_;
};

/// A node that a step computes, and how much of its work.
struct NodeShare {
  std::size_t node = 0;
  double share = 1;
};

/// Which steps compute each node.
class Owners {
 public:
  Owners(const GraphCosts& costs, const ir::Uses& uses, std::span<const exec::StepTime> steps)
      : costs_(costs),
        uses_(uses),
        owner_(costs.graph().nodes.size(), none),
        helpers_(owner_.size()),
        fuses_(steps.size(), false),
        has_contraction_(steps.size(), false) {
    name(steps);
    for (std::size_t node = owner_.size(); node-- > 0;) look_behind(node);
    for (std::size_t node = 0; node < owner_.size(); ++node) look_before(node);
  }

  /// Steps that multiply for the same node divide its work as they divide its products.
  std::vector<std::vector<NodeShare>> nodes_of_steps(std::span<const exec::StepTime> steps) const {
    std::vector<std::vector<NodeShare>> nodes(fuses_.size());
    for (std::size_t node = 0; node < owner_.size(); ++node) {
      if (owner_[node] == none) continue;
      const bool is_shared = !helpers_[node].empty();
      double all = steps[owner_[node]].products;
      for (const std::size_t helper : helpers_[node]) all += steps[helper].products;
      nodes[owner_[node]].push_back({node, is_shared ? steps[owner_[node]].products / all : 1});
      for (const std::size_t helper : helpers_[node]) nodes[helper].push_back({node, steps[helper].products / all});
    }
    return nodes;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void name(std::span<const exec::StepTime> steps) {
    const ir::Graph& graph = costs_.graph();
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ir::ValueId id : graph.nodes[n].outputs)
        if (id != ir::ValueId::none) by_name.emplace(graph.name_of(id), n);
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (!graph.nodes[n].name.empty()) by_name.emplace(graph.nodes[n].name.view(), n);
    for (const std::size_t step : by_claim(steps)) {
      bool is_node = false, any = false;
      for (const std::string& covered : steps[step].covers) {
        const auto found = by_name.find(covered);
        if (found == by_name.end() || !claim(found->second, step, steps)) continue;
        const ir::Node& node = graph.nodes[found->second];
        any = true;
        is_node = is_node || steps[step].op == node.op_type.view() || steps[step].op == ir::qualified_op(node);
      }
      if (const auto place = steps[step].place; place && *place < graph.nodes.size() && owner_[*place] == none &&
                                                graph.nodes[*place].name.empty() &&
                                                steps[step].op == graph.nodes[*place].op_type.view()) {
        take(*place, step);
        is_node = true;
      }
      // A step of another operator than the nodes that it is called after does more than these.
      fuses_[step] = any && !is_node;
    }
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

  /// A node whose results only one fused step reads, and that no product of it follows.
  void look_behind(std::size_t node) {
    std::size_t step = none;
    if (owner_[node] != none) return;
    for (const ir::ValueId id : costs_.graph().nodes[node].outputs) {
      if (id == ir::ValueId::none) continue;
      if (uses_.is_output(id)) return;
      for (const std::uint32_t reader : uses_.consumers(id)) {
        const std::size_t owner = only_owner(reader);
        if (owner == none || (step != none && owner != step) || costs_.is_contraction(reader)) return;
        step = owner;
      }
    }
    if (step == none || !fuses_[step] || (costs_.is_contraction(node) && has_contraction_[step])) return;
    take(node, step);
  }

  /// A node without products that reads of one fused step only.
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
    if (step != none && fuses_[step]) take(node, step);
  }

  const GraphCosts& costs_;
  const ir::Uses& uses_;
  std::vector<std::size_t> owner_;
  std::vector<std::vector<std::size_t>> helpers_;  ///< by node: further steps that multiply for it
  std::vector<bool> fuses_, has_contraction_;
};

/// What crosses the border of a group of nodes, each value once.
std::optional<double> border_bytes(GraphCosts& costs, const ir::Uses& uses, const std::vector<std::size_t>& nodes) {
  const std::unordered_set<std::size_t> inside(nodes.begin(), nodes.end());
  std::unordered_set<std::uint32_t> read;
  double total = 0;
  for (const std::size_t node : nodes) {
    for (const ir::ValueId id : uses.reads(node)) {
      const std::int32_t writer = uses.producer(id);
      if ((writer >= 0 && inside.contains(static_cast<std::size_t>(writer))) || !read.insert(ir::index_of(id)).second)
        continue;
      const auto bytes = costs.read_bytes(node, id);
      if (!bytes) return std::nullopt;
      total += *bytes;
    }
    for (const ir::ValueId id : costs.graph().nodes[node].outputs) {
      if (id == ir::ValueId::none) continue;
      const auto readers = uses.consumers(id);
      const bool leaves = uses.is_output(id) || std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
                            return !inside.contains(reader);
                          });
      if (!leaves) continue;
      const auto bytes = costs.bytes(id);
      if (!bytes) return std::nullopt;
      total += *bytes;
    }
  }
  return total;
}

StepCost cost_of(GraphCosts& costs, const ir::Uses& uses, const std::vector<NodeShare>& shares) {
  StepCost cost;
  if (shares.empty()) return cost;
  cost.operations = 0;
  std::vector<std::size_t> nodes;
  bool is_whole = true;
  for (const auto& [n, share] : shares) {
    const ir::Node& node = costs.graph().nodes[n];
    cost.nodes.emplace_back(!node.name.empty()     ? node.name.view()
                            : node.outputs.empty() ? node.op_type.view()
                                                   : costs.graph().name_of(node.outputs.front()));
    const auto products = costs.products(n);
    cost.operations =
        products && cost.operations ? std::optional(*cost.operations + 2 * share * *products) : std::nullopt;
    nodes.push_back(n);
    is_whole = is_whole && share == 1;
  }
  // Which part of a node's values one of its steps reads and writes only the backend knows.
  if (is_whole) cost.bytes = border_bytes(costs, uses, nodes);
  return cost;
}

}  // namespace

std::vector<StepCost> step_costs(const ir::Model& model, const spec::OpTable& table,
                                 const std::vector<NamedValue>& inputs, std::span<const exec::StepTime> steps) {
  std::vector<StepCost> found(steps.size());
  if (!model.graph) return found;
  GraphCosts costs(model, table, inputs);
  const ir::Uses uses(*model.graph);
  const auto nodes = Owners(costs, uses, steps).nodes_of_steps(steps);
  for (std::size_t step = 0; step < steps.size(); ++step) found[step] = cost_of(costs, uses, nodes[step]);
  return found;
}

}  // namespace onnxkit::benching
