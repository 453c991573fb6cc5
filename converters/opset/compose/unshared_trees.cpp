#include "converters/opset/compose/unshared_trees.h"

#include <cmath>
#include <vector>

#include "converters/opset/engine/step.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

bool has_shared_branch(const Trees& trees) {
  std::vector<std::size_t> led_to(trees.nodes.size(), 0);
  for (const std::size_t root : trees.roots) ++led_to[root];
  for (const TreeNode& node : trees.nodes) {
    if (node.mode == TreeNode::leaf) continue;
    ++led_to[node.if_true];
    ++led_to[node.if_false];
  }
  for (std::size_t i = 0; i < led_to.size(); ++i)
    if (led_to[i] > 1 && trees.nodes[i].mode != TreeNode::leaf) return true;
  return false;
}

/// That they are read from, and made: members count as nodes do.
constexpr std::size_t most_items = static_cast<std::size_t>(most_storable);

/// A question for membership in place of the comparisons that begin with this node; the node itself where it begins none. Nothing equals NaN, which
/// ends a list of members. `walked` counts the comparisons of all chains.
TreeNode joined(const Trees& trees, const TreeNode& first, std::size_t& walked) {
  TreeNode node = first;
  if (first.mode != TreeNode::equal) return node;
  const auto add = [&](double number) {
    if (++walked > most_items) refuse("the trees have too many nodes, or form a cycle");
    if (!std::isnan(number)) node.members.push_back(number);
  };
  add(first.split);
  for (std::size_t steps = 0; steps < trees.nodes.size(); ++steps) {
    const TreeNode& next = trees.nodes[node.if_false];
    const bool goes_on = next.mode == TreeNode::equal && next.feature == first.feature &&
                         next.missing_is_true == first.missing_is_true && next.if_true == first.if_true;
    if (!goes_on) break;
    add(next.split);
    node.if_false = next.if_false;
  }
  if (node.members.size() == 1) node.split = node.members.front();
  if (node.members.size() > 1)
    node.mode = TreeNode::member;
  else
    node.members.clear();
  return node;
}

}  // namespace

Trees unshared(const Trees& trees) {
  if (!has_shared_branch(trees)) return trees;
  Trees made;
  std::size_t walked = 0;
  const auto add = [&](std::size_t node) {
    if (made.nodes.size() >= most_items) refuse("the trees have too many nodes, or form a cycle");
    made.nodes.push_back(joined(trees, trees.nodes[node], walked));
    return made.nodes.size() - 1;
  };
  for (const std::size_t root : trees.roots) {
    std::size_t at = made.nodes.size();
    made.roots.push_back(add(root));
    for (; at < made.nodes.size(); ++at) {  // children are added behind
      if (made.nodes[at].mode == TreeNode::leaf) continue;
      const std::size_t if_true = add(made.nodes[at].if_true), if_false = add(made.nodes[at].if_false);
      made.nodes[at].if_true = if_true;
      made.nodes[at].if_false = if_false;
    }
  }
  return made;
}

}  // namespace onnxkit::opset
