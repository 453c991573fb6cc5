#include "libonnxkit/spec/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <fmt/core.h>

namespace onnxkit::spec {
namespace {

template <class Message>
void require(bool holds, const Message& message) {
  if (holds) return;
  if constexpr (std::is_invocable_v<Message>)
    throw MalformedTrees(message());
  else
    throw MalformedTrees(message);
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
std::vector<std::int64_t> integer_list(const NodeAttributes& attributes, std::string_view name, std::size_t count) {
  const auto list = attributes.integers(name);
  require(list && list->size() == count, [&] { return fmt::format("{} must have {} entries", name, count); });
  return *list;
}

/// As integer_list; zeros when absent.
std::vector<std::int64_t> flag_list(const NodeAttributes& attributes, std::string_view name, std::size_t count) {
  const auto list = attributes.integers(name);
  if (!list || list->empty()) return std::vector<std::int64_t>(count);
  return integer_list(attributes, name, count);
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

std::vector<double> reals_or_tensor(const NodeAttributes& attributes, std::string_view name, const ReadReals& read) {
  if (const ir::Tensor* tensor = attributes.tensor(std::string(name) + "_as_tensor")) return read(*tensor);
  const auto list = attributes.reals(name);
  return list ? std::vector<double>(list->begin(), list->end()) : std::vector<double>();
}

TreeEnsemble read_listed_trees(const NodeAttributes& attributes, std::string_view votes, const ReadReals& read) {
  const auto modes = attributes.strings("nodes_modes").value_or(std::vector<std::string_view>());
  const std::size_t count = modes.size();
  const auto trees = integer_list(attributes, "nodes_treeids", count),
             ids = integer_list(attributes, "nodes_nodeids", count);
  const auto features = integer_list(attributes, "nodes_featureids", count);
  const auto if_true = integer_list(attributes, "nodes_truenodeids", count);
  const auto if_false = integer_list(attributes, "nodes_falsenodeids", count);
  const auto missing = flag_list(attributes, "nodes_missing_value_tracks_true", count);
  const std::vector<double> thresholds = reals_or_tensor(attributes, "nodes_values", read);
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
  const auto targets = attributes.integers(prefix + "_ids").value_or(std::vector<std::int64_t>());
  const auto vote_trees = integer_list(attributes, prefix + "_treeids", targets.size());
  const auto vote_nodes = integer_list(attributes, prefix + "_nodeids", targets.size());
  const std::vector<double> weights = reals_or_tensor(attributes, prefix + "_weights", read);
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

TreeEnsemble read_indexed_trees(const NodeAttributes& attributes, const ReadReals& read) {
  const auto numbers = [&](std::string_view name) {
    const ir::Tensor* tensor = attributes.tensor(name);
    return tensor ? read(*tensor) : std::vector<double>();
  };
  const std::vector<double> modes = numbers("nodes_modes"), thresholds = numbers("nodes_splits");
  const std::vector<double> weights = numbers("leaf_weights"), members = numbers("membership_values");
  const std::size_t count = modes.size(), leaves = weights.size();
  const auto features = integer_list(attributes, "nodes_featureids", count);
  const auto if_true = integer_list(attributes, "nodes_truenodeids", count);
  const auto if_false = integer_list(attributes, "nodes_falsenodeids", count);
  const auto true_leafs = integer_list(attributes, "nodes_trueleafs", count);
  const auto false_leafs = integer_list(attributes, "nodes_falseleafs", count);
  const auto missing = flag_list(attributes, "nodes_missing_value_tracks_true", count);
  const auto targets = integer_list(attributes, "leaf_targetids", leaves);
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
  for (const std::int64_t root : attributes.integers("tree_roots").value_or(std::vector<std::int64_t>()))
    ensemble.roots.push_back(small(index(root, count, "node")));
  return ensemble;
}

}  // namespace onnxkit::spec
