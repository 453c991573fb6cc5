#include "converters/opset/compose/tree_ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <fmt/core.h>

#include "converters/opset/compose/unshared_trees.h"
#include "converters/opset/engine/storable.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// That are read of a tensor which the model holds.
constexpr std::size_t most_read = std::size_t{1} << 28;
constexpr std::array<std::string_view, 6> mode_names = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

List list_of(const Step& step, std::string_view name, std::size_t count, bool is_optional = false) {
  List list = step.integers(name).value_or(List());
  if (list.empty() && is_optional) list.resize(count);
  if (list.size() != count) refuse(fmt::format("{} must have one entry per entry of {}", name, count));
  return list;
}

std::vector<std::int64_t> modes_of(const Step& step) {
  if (step.is_reference("nodes_modes")) refuse_unknown("the function's caller sets attribute nodes_modes");
  const ir::Attribute* found = step.node().find_attribute("nodes_modes");
  const auto* texts = found ? found->as<std::vector<Text>>() : nullptr;
  List modes;
  for (std::size_t i = 0; texts && i < texts->size(); ++i) {
    const auto name = std::find(mode_names.begin(), mode_names.end(), (*texts)[i].view());
    if (name == mode_names.end() && (*texts)[i] != std::string_view("LEAF"))
      refuse(fmt::format("a tree node has the unknown mode {}", (*texts)[i].view()));
    modes.push_back(name == mode_names.end() ? TreeNode::leaf : name - mode_names.begin());
  }
  return modes;
}

/// Finds nodes by tree and id; the first node of a tree is its root.
struct NodeIndices {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> by_id;

  std::size_t find(std::int64_t tree, std::int64_t id) const {
    const auto found = by_id.find({tree, id});
    if (found == by_id.end()) refuse(fmt::format("tree {} has no node {}", tree, id));
    return found->second;
  }
};

void read_votes(const Step& step, const std::string& prefix, const NodeIndices& indices, Trees& trees) {
  const List targets = step.integers(prefix + "_ids").value_or(List());
  const List in_tree = list_of(step, prefix + "_treeids", targets.size());
  const List of_node = list_of(step, prefix + "_nodeids", targets.size());
  const std::vector<double> weights = reals_or_tensor(step, prefix + "_weights");
  if (weights.size() != targets.size()) refuse("the number of weights differs from the number of votes");
  for (std::size_t i = 0; i < targets.size(); ++i)
    trees.nodes[indices.find(in_tree[i], of_node[i])].votes.push_back({targets[i], weights[i]});
}

ir::Tensor bytes_tensor(Step& step, const List& numbers) {
  return step.tensor(ElementType::uint8, {static_cast<std::int64_t>(numbers.size())},
                     std::vector<double>(numbers.begin(), numbers.end()));
}

/// The attributes of a TreeEnsemble while they grow.
struct Ensemble {
  List features, modes, if_true, if_false, true_leafs, false_leafs, missing, roots, targets;
  std::vector<double> splits, weights;
  std::vector<double> members;  ///< of each question for membership, NaN behind

  void add_leaf(const TreeNode& node, std::size_t vote, const EnsembleOptions& options) {
    const bool has_vote = vote < node.votes.size();
    const bool repeats = !has_vote && options.repeats_votes && !node.votes.empty();
    const TreeNode::Vote none{0, 0};
    const TreeNode::Vote& taken = has_vote ? node.votes[vote] : repeats ? node.votes.front() : none;
    targets.push_back(taken.target);
    weights.push_back(taken.weight * options.factor);
  }

  void add_branch(const TreeNode& node, const std::vector<std::int64_t>& index_of, const std::vector<TreeNode>& nodes) {
    features.push_back(node.feature);
    modes.push_back(node.mode);
    splits.push_back(node.split);
    if (node.mode == TreeNode::member) {
      members.insert(members.end(), node.members.begin(), node.members.end());
      members.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    missing.push_back(node.missing_is_true ? 1 : 0);
    if_true.push_back(index_of[node.if_true]);
    if_false.push_back(index_of[node.if_false]);
    true_leafs.push_back(nodes[node.if_true].mode == TreeNode::leaf ? 1 : 0);
    false_leafs.push_back(nodes[node.if_false].mode == TreeNode::leaf ? 1 : 0);
  }

  /// A tree that is a leaf: both branches lead there.
  void add_lone_leaf(std::int64_t leaf) {
    roots.push_back(static_cast<std::int64_t>(modes.size()));
    for (List* list : {&features, &modes, &missing}) list->push_back(0);
    splits.push_back(0);
    for (List* list : {&if_true, &if_false}) list->push_back(leaf);
    for (List* list : {&true_leafs, &false_leafs}) list->push_back(1);
  }

  /// All trees, of whose leaves the vote of that number counts.
  void add(const Trees& trees, std::size_t vote, const EnsembleOptions& options) {
    std::vector<std::int64_t> index_of(trees.nodes.size());
    std::int64_t next = static_cast<std::int64_t>(modes.size());
    for (std::size_t i = 0; i < trees.nodes.size(); ++i) {
      if (trees.nodes[i].mode != TreeNode::leaf) {
        index_of[i] = next++;
        continue;
      }
      index_of[i] = static_cast<std::int64_t>(weights.size());
      add_leaf(trees.nodes[i], vote, options);
    }
    for (const TreeNode& node : trees.nodes) {
      if (node.mode != TreeNode::leaf) add_branch(node, index_of, trees.nodes);
    }
    for (const std::size_t root : trees.roots) {
      if (trees.nodes[root].mode == TreeNode::leaf)
        add_lone_leaf(index_of[root]);
      else
        roots.push_back(index_of[root]);
    }
  }
};

}  // namespace

std::size_t Trees::most_votes() const {
  std::size_t most = 1;
  for (const TreeNode& node : nodes) most = std::max(most, node.votes.size());
  return most;
}

bool Trees::has_leaf_without_votes() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const TreeNode& node) { return node.mode == TreeNode::leaf && node.votes.empty(); });
}

void Trees::add_constant(std::int64_t target, double weight) {
  roots.push_back(nodes.size());
  nodes.emplace_back();
  nodes.back().votes.push_back({target, weight});
}

std::vector<double> reals_or_tensor(const Step& step, std::string_view name) {
  const std::string as_tensor = std::string(name) + "_as_tensor";
  if (step.is_reference(as_tensor)) refuse_unknown(fmt::format("the function's caller sets attribute {}", as_tensor));
  const ir::Attribute* found = step.node().find_attribute(as_tensor);
  if (found && found->tensor()) {
    auto numbers = ir::read_reals(*found->tensor(), most_read);
    if (!numbers) refuse_unknown(fmt::format("{} cannot be read", as_tensor));
    return *std::move(numbers);
  }
  const auto list = step.reals(name);
  return list ? std::vector<double>(list->begin(), list->end()) : std::vector<double>();
}

Trees read_trees(const Step& step, std::string_view votes) {
  const List modes = modes_of(step);
  const std::size_t count = modes.size();
  const List trees_of = list_of(step, "nodes_treeids", count), ids = list_of(step, "nodes_nodeids", count);
  const List features = list_of(step, "nodes_featureids", count);
  const List if_true = list_of(step, "nodes_truenodeids", count), if_false = list_of(step, "nodes_falsenodeids", count);
  const List missing = list_of(step, "nodes_missing_value_tracks_true", count, true);
  const std::vector<double> splits = reals_or_tensor(step, "nodes_values");
  if (splits.size() != count) refuse("nodes_values must have one entry per node");
  Trees trees;
  NodeIndices indices;
  std::map<std::int64_t, std::size_t> root_of;
  for (std::size_t i = 0; i < count; ++i) {
    if (!indices.by_id.emplace(std::pair(trees_of[i], ids[i]), i).second)
      refuse("a tree has two nodes with the same id");
    if (root_of.emplace(trees_of[i], i).second) trees.roots.push_back(i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.mode = modes[i];
    node.missing_is_true = missing[i] != 0;
    if (node.mode != TreeNode::leaf) {
      node.feature = features[i];
      node.split = splits[i];
      node.if_true = indices.find(trees_of[i], if_true[i]);
      node.if_false = indices.find(trees_of[i], if_false[i]);
    }
    trees.nodes.push_back(std::move(node));
  }
  read_votes(step, std::string(votes), indices, trees);
  return trees;
}

void emit_ensemble(Step& step, const Trees& trees, const EnsembleOptions& options, ValueId x, ValueId y) {
  Ensemble made;
  const Trees own = unshared(trees);
  for (std::size_t vote = 0; vote < options.copies; ++vote) made.add(own, vote, options);
  const auto numbers = [&](const std::vector<double>& values) {
    return step.tensor(options.type, {static_cast<std::int64_t>(values.size())}, values);
  };
  ir::Node& node = step.emit("TreeEnsemble", {x}, {y});
  node.domain = step.keep("ai.onnx.ml");
  const auto set = [&](Attr attr) { node.attributes.push_back(step.attribute(std::move(attr))); };
  set({"aggregate_function", options.aggregate});
  set({"post_transform", options.post_transform});
  set({"n_targets", options.targets});
  set({"tree_roots", made.roots});
  set({"nodes_featureids", made.features});
  set({"nodes_truenodeids", made.if_true});
  set({"nodes_falsenodeids", made.if_false});
  set({"nodes_trueleafs", made.true_leafs});
  set({"nodes_falseleafs", made.false_leafs});
  set({"nodes_missing_value_tracks_true", made.missing});
  set({"leaf_targetids", made.targets});
  node.attributes.push_back(step.attribute("nodes_modes", bytes_tensor(step, made.modes)));
  node.attributes.push_back(step.attribute("nodes_splits", numbers(made.splits)));
  node.attributes.push_back(step.attribute("leaf_weights", numbers(made.weights)));
  if (!made.members.empty()) node.attributes.push_back(step.attribute("membership_values", numbers(made.members)));
}

namespace {

std::vector<double> numbers_in(const Step& step, std::string_view name) {
  if (step.is_reference(name)) refuse_unknown(fmt::format("the function's caller sets attribute {}", name));
  const ir::Attribute* found = step.node().find_attribute(name);
  if (!found || !found->tensor()) return {};
  auto numbers = ir::read_reals(*found->tensor(), most_read);
  if (!numbers) refuse_unknown(fmt::format("{} cannot be read", name));
  return *std::move(numbers);
}

std::size_t index_below(std::int64_t number, std::size_t count) {
  if (number < 0 || static_cast<std::uint64_t>(number) >= count) refuse(fmt::format("node {} does not exist", number));
  return static_cast<std::size_t>(number);
}

/// A list as floats, or as a tensor of doubles where floats do not hold it.
ir::Attribute reals_attribute(Step& step, const std::string& name, const std::vector<double>& numbers) {
  std::vector<float> floats(numbers.begin(), numbers.end());
  const bool is_exact = std::equal(numbers.begin(), numbers.end(), floats.begin(), [](double number, float rounded) {
    return std::isnan(number) || static_cast<double>(rounded) == number;
  });
  if (is_exact) return step.attribute({name, std::move(floats)});
  return step.attribute(name + "_as_tensor",
                        step.tensor(ElementType::float64, {static_cast<std::int64_t>(numbers.size())}, numbers));
}

/// nodes_* and target_* while they grow, and what of the tree at hand is still to be listed.
struct Listing {
  struct Item {
    std::size_t node;
    std::size_t member;  ///< which of its members is asked for
  };
  List trees, ids, features, if_true, if_false, missing, vote_trees, vote_ids, targets;
  std::vector<double> splits, weights;
  std::vector<std::string> modes;
  std::vector<Item> items;

  std::int64_t enqueue(std::size_t node, std::size_t member = 0) {
    items.push_back({node, member});
    if (ids.size() + items.size() > static_cast<std::size_t>(most_storable))
      refuse("the trees have too many nodes, or form a cycle");
    return static_cast<std::int64_t>(items.size()) - 1;
  }

  void add(const Trees& all, std::int64_t tree, std::int64_t id) {
    const Item item = items[static_cast<std::size_t>(id)];
    const TreeNode& node = all.nodes[item.node];
    const bool is_leaf = node.mode == TreeNode::leaf, is_member = node.mode == TreeNode::member;
    const bool has_more = is_member && item.member + 1 < node.members.size();
    trees.push_back(tree);
    ids.push_back(id);
    features.push_back(node.feature);
    missing.push_back(node.missing_is_true ? 1 : 0);
    modes.emplace_back(is_leaf ? "LEAF"
                               : mode_names[static_cast<std::size_t>(is_member ? TreeNode::equal : node.mode)]);
    const double of_no_member = std::numeric_limits<double>::quiet_NaN();
    splits.push_back(!is_member ? node.split : node.members.empty() ? of_no_member : node.members[item.member]);
    if_true.push_back(is_leaf ? 0 : enqueue(node.if_true));
    if_false.push_back(is_leaf ? 0 : has_more ? enqueue(item.node, item.member + 1) : enqueue(node.if_false));
    for (const TreeNode::Vote& vote : node.votes) {
      vote_trees.push_back(tree);
      vote_ids.push_back(id);
      targets.push_back(vote.target);
      weights.push_back(vote.weight);
    }
  }
};

}  // namespace

Trees read_ensemble(const Step& step) {
  const std::vector<double> modes = numbers_in(step, "nodes_modes"), splits = numbers_in(step, "nodes_splits");
  const std::vector<double> weights = numbers_in(step, "leaf_weights"), members = numbers_in(step, "membership_values");
  const std::size_t count = modes.size(), leaves = weights.size();
  const List features = list_of(step, "nodes_featureids", count);
  const List if_true = list_of(step, "nodes_truenodeids", count), if_false = list_of(step, "nodes_falsenodeids", count);
  const List true_leafs = list_of(step, "nodes_trueleafs", count),
             false_leafs = list_of(step, "nodes_falseleafs", count);
  const List missing = list_of(step, "nodes_missing_value_tracks_true", count, true);
  const List targets = list_of(step, "leaf_targetids", leaves);
  if (splits.size() != count) refuse("nodes_splits must have one entry per node");
  Trees trees;
  std::size_t next_member = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) refuse("a tree node has an unknown mode");
    TreeNode node;
    node.mode = static_cast<std::int64_t>(modes[i]);
    node.feature = features[i];
    node.split = splits[i];
    node.missing_is_true = missing[i] != 0;
    const auto child = [&](std::int64_t number, bool is_leaf) {
      return is_leaf ? count + index_below(number, leaves) : index_below(number, count);
    };
    node.if_true = child(if_true[i], true_leafs[i] != 0);
    node.if_false = child(if_false[i], false_leafs[i] != 0);
    if (node.mode == TreeNode::member) {
      while (next_member < members.size() && !std::isnan(members[next_member]))
        node.members.push_back(members[next_member++]);
      ++next_member;
    }
    trees.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    trees.nodes.emplace_back();
    trees.nodes.back().votes.push_back({targets[i], weights[i]});
  }
  for (const std::int64_t root : step.integers("tree_roots").value_or(List()))
    trees.roots.push_back(index_below(root, count));
  return trees;
}

std::vector<ir::Attribute> listed_trees(Step& step, const Trees& trees) {
  Listing listing;
  for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) {
    listing.items.clear();
    listing.enqueue(trees.roots[tree]);
    for (std::size_t id = 0; id < listing.items.size(); ++id)
      listing.add(trees, static_cast<std::int64_t>(tree), static_cast<std::int64_t>(id));
  }
  std::vector<ir::Attribute> attributes;
  attributes.push_back(step.attribute({"nodes_treeids", listing.trees}));
  attributes.push_back(step.attribute({"nodes_nodeids", listing.ids}));
  attributes.push_back(step.attribute({"nodes_featureids", listing.features}));
  attributes.push_back(step.attribute({"nodes_modes", listing.modes}));
  attributes.push_back(reals_attribute(step, "nodes_values", listing.splits));
  attributes.push_back(step.attribute({"nodes_truenodeids", listing.if_true}));
  attributes.push_back(step.attribute({"nodes_falsenodeids", listing.if_false}));
  attributes.push_back(step.attribute({"nodes_missing_value_tracks_true", listing.missing}));
  attributes.push_back(step.attribute({"target_treeids", listing.vote_trees}));
  attributes.push_back(step.attribute({"target_nodeids", listing.vote_ids}));
  attributes.push_back(step.attribute({"target_ids", listing.targets}));
  attributes.push_back(reals_attribute(step, "target_weights", listing.weights));
  return attributes;
}

}  // namespace onnxkit::opset
