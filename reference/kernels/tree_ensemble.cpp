#include "reference/kernels/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/core.h>

#include "reference/noise/noise.h"

namespace onnxkit::reference {
namespace {

bool holds(const TreeNode& node, double x) {
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.mode) {
    case TreeMode::leq:
      return x <= node.threshold;
    case TreeMode::lt:
      return x < node.threshold;
    case TreeMode::gte:
      return x >= node.threshold;
    case TreeMode::gt:
      return x > node.threshold;
    case TreeMode::eq:
      return x == node.threshold;
    case TreeMode::neq:
      return x != node.threshold;
    default:
      return std::binary_search(node.members.begin(), node.members.end(), x);
  }
}

TreeMode mode_of(std::string_view name) {
  if (name == "BRANCH_LEQ") return TreeMode::leq;
  if (name == "BRANCH_LT") return TreeMode::lt;
  if (name == "BRANCH_GTE") return TreeMode::gte;
  if (name == "BRANCH_GT") return TreeMode::gt;
  if (name == "BRANCH_EQ") return TreeMode::eq;
  if (name == "BRANCH_NEQ") return TreeMode::neq;
  require(name == "LEAF", "a mode of a tree node is unknown");
  return TreeMode::leaf;
}

std::size_t index(std::int64_t number, std::size_t count, const char* what) {
  require(number >= 0 && static_cast<std::uint64_t>(number) < count,
          [&] { return fmt::format("{} {} does not exist", what, number); });
  return static_cast<std::size_t>(number);
}

/// A list attribute with one entry for each of `count`.
std::vector<std::int64_t> integer_list(const KernelContext& context, std::string_view name, std::size_t count) {
  const auto list = context.integers(name);
  require(list && list->size() == count, [&] { return fmt::format("{} must have {} entries", name, count); });
  return *list;
}

/// As integer_list; zeros when absent.
std::vector<std::int64_t> flag_list(const KernelContext& context, std::string_view name, std::size_t count) {
  const auto list = context.integers(name);
  if (!list || list->empty()) return std::vector<std::int64_t>(count);
  return integer_list(context, name, count);
}

using NodeKey = std::pair<std::int64_t, std::int64_t>;  ///< tree and node

}  // namespace

const TreeNode& TreeEnsemble::leaf_of(std::size_t root, std::span<const double> row) const {
  const TreeNode* node = &nodes[root];
  for (std::size_t steps = 0; node->mode != TreeMode::leaf; ++steps) {
    require(steps < nodes.size(), "the nodes of a tree form a cycle");
    require(node->feature < row.size(), "a tree uses a feature id beyond the number of features");
    node = &nodes[holds(*node, row[node->feature]) ? node->if_true : node->if_false];
  }
  return *node;
}

void TreeEnsemble::predict(std::span<const double> row, Aggregate how, std::span<double> targets, const Noise* noise,
                           std::uint64_t key) const {
  std::vector<bool> voted(targets.size());
  std::vector<double> squares(targets.size(), 0);
  std::fill(targets.begin(), targets.end(), 0.0);
  for (const std::size_t root : roots) {
    for (const TreeNode::Vote& vote : leaf_of(root, row).votes) {
      require(vote.target < targets.size(), "a leaf votes for a class or target that does not exist");
      double& score = targets[vote.target];
      const bool first = !voted[vote.target];
      if (how == Aggregate::min)
        score = first ? vote.weight : std::min(score, vote.weight);
      else if (how == Aggregate::max)
        score = first ? vote.weight : std::max(score, vote.weight);
      else
        score += vote.weight;
      voted[vote.target] = true;
      squares[vote.target] += vote.weight * vote.weight;
    }
  }
  const auto count = static_cast<double>(roots.size());
  for (std::size_t i = 0; noise && how != Aggregate::min && how != Aggregate::max && i < targets.size(); ++i) {
    // As of sums of products, in any order (noise.h).
    const double partial = std::sqrt(count / 3 * targets[i] * targets[i] + count / 6 * squares[i]);
    targets[i] += partial * noise->error(key * targets.size() + i);
  }
  if (how != Aggregate::average) return;
  for (double& score : targets) score /= count;
}

std::vector<double> reals_or_tensor(const KernelContext& context, std::string_view name) {
  if (const ir::Tensor* tensor = context.tensor(std::string(name) + "_as_tensor"))
    return context.constant(*tensor).reals();
  const auto list = context.reals(name);
  return list ? std::vector<double>(list->begin(), list->end()) : std::vector<double>();
}

TreeEnsemble read_listed_trees(const KernelContext& context, std::string_view votes) {
  const auto modes = context.strings("nodes_modes").value_or(std::vector<std::string_view>());
  const std::size_t count = modes.size();
  const auto trees = integer_list(context, "nodes_treeids", count), ids = integer_list(context, "nodes_nodeids", count);
  const auto features = integer_list(context, "nodes_featureids", count);
  const auto if_true = integer_list(context, "nodes_truenodeids", count);
  const auto if_false = integer_list(context, "nodes_falsenodeids", count);
  const auto missing = flag_list(context, "nodes_missing_value_tracks_true", count);
  const std::vector<double> thresholds = reals_or_tensor(context, "nodes_values");
  require(thresholds.size() == count, "nodes_values must have one entry per node");

  TreeEnsemble ensemble;
  std::map<NodeKey, std::size_t> index_of;
  std::map<std::int64_t, std::size_t> root_of_tree;
  for (std::size_t i = 0; i < count; ++i) {
    require(index_of.emplace(NodeKey(trees[i], ids[i]), i).second, "a tree has two nodes with the same id");
    // The first node of a tree is its root.
    if (root_of_tree.emplace(trees[i], i).second) ensemble.roots.push_back(i);
  }
  const auto find = [&](std::int64_t tree, std::int64_t id) {
    const auto found = index_of.find({tree, id});
    require(found != index_of.end(), [&] { return fmt::format("tree {} has no node {}", tree, id); });
    return found->second;
  };
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node{.mode = mode_of(modes[i]), .threshold = thresholds[i], .missing_is_true = missing[i] != 0};
    if (node.mode != TreeMode::leaf) {
      require(features[i] >= 0, "a feature id is negative");
      node.feature = static_cast<std::size_t>(features[i]);
      node.if_true = find(trees[i], if_true[i]);
      node.if_false = find(trees[i], if_false[i]);
    }
    ensemble.nodes.push_back(std::move(node));
  }
  const std::string prefix(votes);
  const auto targets = context.integers(prefix + "_ids").value_or(std::vector<std::int64_t>());
  const auto vote_trees = integer_list(context, prefix + "_treeids", targets.size());
  const auto vote_nodes = integer_list(context, prefix + "_nodeids", targets.size());
  const std::vector<double> weights = reals_or_tensor(context, prefix + "_weights");
  require(weights.size() == targets.size(), "the number of weights differs from the number of votes");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    require(targets[i] >= 0, "a vote has a negative class or target id");
    ensemble.nodes[find(vote_trees[i], vote_nodes[i])].votes.push_back(
        {static_cast<std::size_t>(targets[i]), weights[i]});
  }
  return ensemble;
}

TreeEnsemble read_indexed_trees(const KernelContext& context) {
  const auto numbers = [&](std::string_view name) {
    const ir::Tensor* tensor = context.tensor(name);
    return tensor ? context.constant(*tensor).reals() : std::vector<double>();
  };
  const std::vector<double> modes = numbers("nodes_modes"), thresholds = numbers("nodes_splits");
  const std::vector<double> weights = numbers("leaf_weights"), members = numbers("membership_values");
  const std::size_t count = modes.size(), leaves = weights.size();
  const auto features = integer_list(context, "nodes_featureids", count);
  const auto if_true = integer_list(context, "nodes_truenodeids", count);
  const auto if_false = integer_list(context, "nodes_falsenodeids", count);
  const auto true_leafs = integer_list(context, "nodes_trueleafs", count);
  const auto false_leafs = integer_list(context, "nodes_falseleafs", count);
  const auto missing = flag_list(context, "nodes_missing_value_tracks_true", count);
  const auto targets = integer_list(context, "leaf_targetids", leaves);
  require(thresholds.size() == count, "nodes_splits must have one entry per node");

  TreeEnsemble ensemble;
  std::size_t next_member = 0;
  for (std::size_t i = 0; i < count; ++i) {
    require(modes[i] >= 0 && modes[i] <= 6, "a mode of a tree node is unknown");
    require(features[i] >= 0, "a feature id is negative");
    TreeNode node{.mode = static_cast<TreeMode>(static_cast<int>(modes[i])),
                  .feature = static_cast<std::size_t>(features[i]),
                  .threshold = thresholds[i],
                  .missing_is_true = missing[i] != 0};
    // Leaves lie behind the inner nodes.
    node.if_true = true_leafs[i] != 0 ? count + index(if_true[i], leaves, "leaf") : index(if_true[i], count, "node");
    node.if_false =
        false_leafs[i] != 0 ? count + index(if_false[i], leaves, "leaf") : index(if_false[i], count, "node");
    if (node.mode == TreeMode::member) {
      while (next_member < members.size() && !std::isnan(members[next_member]))
        node.members.push_back(members[next_member++]);
      ++next_member;
      std::sort(node.members.begin(), node.members.end());
    }
    ensemble.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    require(targets[i] >= 0, "a leaf has a negative target id");
    TreeNode leaf;
    leaf.votes.push_back({static_cast<std::size_t>(targets[i]), weights[i]});
    ensemble.nodes.push_back(std::move(leaf));
  }
  for (const std::int64_t root : context.integers("tree_roots").value_or(std::vector<std::int64_t>()))
    ensemble.roots.push_back(index(root, count, "node"));
  return ensemble;
}

}  // namespace onnxkit::reference
