#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/opset/engine/step.h"

// Tree ensembles of ai.onnx.ml, on their way from nodes listed by tree and id to TreeEnsemble, which keeps leaves apart.
namespace onnxkit::opset {

struct TreeNode {
  static constexpr std::int64_t equal = 4, member = 6, leaf = 7;
  std::int64_t mode = leaf;  ///< as TreeEnsemble numbers them, or `leaf`
  std::int64_t feature = 0;
  double split = 0;
  bool missing_is_true = false;
  std::size_t if_true = 0, if_false = 0;  ///< indices of nodes
  struct Vote {
    std::int64_t target;
    double weight;
  };
  std::vector<Vote> votes = {};      ///< of a leaf
  std::vector<double> members = {};  ///< of a node that asks for membership
};

struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;

  std::size_t most_votes() const;
  bool has_leaf_without_votes() const;
  /// One more tree, which always says the same.
  void add_constant(std::int64_t target, double weight);
};

/// From the attributes nodes_* and `votes`_* (class or target); refuses what is no tree.
Trees read_trees(const Step& step, std::string_view votes);
/// The attribute `name`, or `name`_as_tensor.
std::vector<double> reals_or_tensor(const Step& step, std::string_view name);

struct EnsembleOptions {
  ElementType type = ElementType::float32;  ///< of input, output, splits and weights
  std::int64_t targets = 1;
  std::int64_t aggregate = 1, post_transform = 0;
  bool repeats_votes = false;  ///< a leaf without a further vote repeats its first one instead of adding 0
  std::size_t copies = 1;      ///< of each tree, one for each vote of a leaf
  double factor = 1;           ///< of all weights
};
/// A TreeEnsemble node.
void emit_ensemble(Step& step, const Trees& trees, const EnsembleOptions& options, ValueId x, ValueId y);

/// From the attributes of a TreeEnsemble node; leaves stand behind the other nodes.
Trees read_ensemble(const Step& step);
/// The attributes nodes_* and target_* of the same trees, listed by tree and id. A node that several lead to stands there as often; membership becomes
/// one comparison after the other.
std::vector<ir::Attribute> listed_trees(Step& step, const Trees& trees);

}  // namespace onnxkit::opset
