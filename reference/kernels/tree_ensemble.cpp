#include "reference/kernels/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <fmt/core.h>

#include "reference/noise/noise.h"

namespace onnxkit::reference {
namespace {

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

/// Nodes, votes and features are fewer than 2^32: their lists are attributes.
std::uint32_t small(std::uint64_t number) {
  require(number <= std::numeric_limits<std::uint32_t>::max(), "a tree ensemble is too large");
  return static_cast<std::uint32_t>(number);
}

std::uint32_t feature_id(std::int64_t number) {
  require(number >= 0, "a feature id is negative");
  return small(static_cast<std::uint64_t>(number));
}

std::uint32_t target_id(std::int64_t number) {
  require(number >= 0, "a class or target id is negative");
  return small(static_cast<std::uint64_t>(number));
}

void give_votes(TreeEnsemble& ensemble, TreeNode& leaf, std::span<const TreeVote> votes) {
  leaf.if_true = small(ensemble.votes.size());
  ensemble.votes.insert(ensemble.votes.end(), votes.begin(), votes.end());
  leaf.if_false = small(ensemble.votes.size());
}

using NodeKey = std::pair<std::int64_t, std::int64_t>;  ///< tree and node

}  // namespace

bool TreeEnsemble::holds(const TreeNode& node, double x) const {
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
      return std::binary_search(members[node.members].begin(), members[node.members].end(), x);
  }
}

const TreeNode& TreeEnsemble::leaf_of(std::uint32_t root, std::span<const double> row) const {
  const TreeNode* node = &nodes[root];
  for (std::size_t steps = 0; node->mode != TreeMode::leaf; ++steps) {
    require(steps < nodes.size(), "the nodes of a tree form a cycle");
    require(node->feature < row.size(), "a tree uses a feature id beyond the number of features");
    node = &nodes[holds(*node, row[node->feature]) ? node->if_true : node->if_false];
  }
  return *node;
}

void TreeEnsemble::add_votes(const TreeNode& leaf, Aggregate how, std::span<double> scores, std::span<double> squares,
                             std::span<char> voted) const {
  for (const TreeVote& vote : votes_of(leaf)) {
    require(vote.target < scores.size(), "a leaf votes for a class or target that does not exist");
    double& score = scores[vote.target];
    if (how == Aggregate::min || how == Aggregate::max) {
      const bool is_better = how == Aggregate::min ? vote.weight < score : vote.weight > score;
      if (is_better || !voted[vote.target]) score = vote.weight;
      voted[vote.target] = 1;
    } else {
      score += vote.weight;
    }
    if (!squares.empty()) squares[vote.target] += vote.weight * vote.weight;
  }
}

void TreeEnsemble::predict(std::span<const double> rows, std::size_t count, Aggregate how, std::span<double> targets,
                           const Noise* noise, std::uint64_t key) const {
  if (count == 0) return;
  const bool is_choice = how == Aggregate::min || how == Aggregate::max;
  const std::size_t features = rows.size() / count, columns = targets.size() / count;
  std::vector<char> voted(is_choice ? targets.size() : 0);
  std::vector<double> squares(noise && !is_choice ? targets.size() : 0);
  std::fill(targets.begin(), targets.end(), 0.0);
  const auto of_row = [columns](auto all, std::size_t row) {
    return all.empty() ? all : all.subspan(row * columns, columns);
  };
  // Some rows through one tree, so that both stay in a cache meanwhile.
  constexpr std::size_t block = 256;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t last = std::min(first + block, count);
    for (const std::uint32_t root : roots) {
      for (std::size_t i = first; i < last; ++i)
        add_votes(leaf_of(root, rows.subspan(i * features, features)), how, of_row(targets, i),
                  of_row(std::span(squares), i), of_row(std::span(voted), i));
    }
  }
  const auto trees = static_cast<double>(roots.size());
  for (std::size_t i = 0; i < squares.size(); ++i) {
    // As of sums of products, in any order (noise.h).
    const double partial = std::sqrt(trees / 3 * targets[i] * targets[i] + trees / 6 * squares[i]);
    targets[i] += partial * noise->error(key * columns + i);
  }
  if (how != Aggregate::average) return;
  for (double& score : targets) score /= trees;
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
  std::map<NodeKey, std::uint32_t> index_of;
  std::set<std::int64_t> known_trees;
  for (std::uint32_t i = 0; i < count; ++i) {
    require(index_of.emplace(NodeKey(trees[i], ids[i]), i).second, "a tree has two nodes with the same id");
    // The first node of a tree is its root.
    if (known_trees.insert(trees[i]).second) ensemble.roots.push_back(i);
  }
  const auto find = [&](std::int64_t tree, std::int64_t id) {
    const auto found = index_of.find({tree, id});
    require(found != index_of.end(), [&] { return fmt::format("tree {} has no node {}", tree, id); });
    return found->second;
  };
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node{.threshold = thresholds[i], .mode = mode_of(modes[i]), .missing_is_true = missing[i] != 0};
    if (node.mode != TreeMode::leaf) {
      node.feature = feature_id(features[i]);
      node.if_true = find(trees[i], if_true[i]);
      node.if_false = find(trees[i], if_false[i]);
    }
    ensemble.nodes.push_back(node);
  }
  const std::string prefix(votes);
  const auto targets = context.integers(prefix + "_ids").value_or(std::vector<std::int64_t>());
  const auto vote_trees = integer_list(context, prefix + "_treeids", targets.size());
  const auto vote_nodes = integer_list(context, prefix + "_nodeids", targets.size());
  const std::vector<double> weights = reals_or_tensor(context, prefix + "_weights");
  require(weights.size() == targets.size(), "the number of weights differs from the number of votes");
  std::vector<std::vector<TreeVote>> votes_of(count);
  for (std::size_t i = 0; i < targets.size(); ++i)
    votes_of[find(vote_trees[i], vote_nodes[i])].push_back({target_id(targets[i]), weights[i]});
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode unreached;  // votes of inner nodes name classes, and do no more
    give_votes(ensemble, ensemble.nodes[i].mode == TreeMode::leaf ? ensemble.nodes[i] : unreached, votes_of[i]);
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
    TreeNode node{.threshold = thresholds[i],
                  .feature = feature_id(features[i]),
                  .mode = static_cast<TreeMode>(static_cast<int>(modes[i])),
                  .missing_is_true = missing[i] != 0};
    // Leaves lie behind the inner nodes.
    const auto branch = [&](std::int64_t number, bool is_leaf) {
      return is_leaf ? small(count + index(number, leaves, "leaf")) : small(index(number, count, "node"));
    };
    node.if_true = branch(if_true[i], true_leafs[i] != 0);
    node.if_false = branch(if_false[i], false_leafs[i] != 0);
    if (node.mode == TreeMode::member) {
      node.members = small(ensemble.members.size());
      std::vector<double>& set = ensemble.members.emplace_back();
      while (next_member < members.size() && !std::isnan(members[next_member])) set.push_back(members[next_member++]);
      ++next_member;
      std::sort(set.begin(), set.end());
    }
    ensemble.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    const TreeVote vote{target_id(targets[i]), weights[i]};
    give_votes(ensemble, ensemble.nodes.emplace_back(), std::span(&vote, 1));
  }
  for (const std::int64_t root : context.integers("tree_roots").value_or(std::vector<std::int64_t>()))
    ensemble.roots.push_back(small(index(root, count, "node")));
  return ensemble;
}

}  // namespace onnxkit::reference
