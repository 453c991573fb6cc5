#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "libonnxkit/spec/node_attributes.h"

// Tree ensembles of ai.onnx.ml in one form, whichever operator they come from.
namespace onnxkit::spec {

enum class TreeMode : std::uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };

/// Whether the comparison of a mode that is neither `member` nor `leaf` holds.
template <class T>
constexpr bool comparison_holds(TreeMode mode, T x, T threshold) {
  switch (mode) {
    case TreeMode::leq:
      return x <= threshold;
    case TreeMode::lt:
      return x < threshold;
    case TreeMode::gte:
      return x >= threshold;
    case TreeMode::gt:
      return x > threshold;
    case TreeMode::eq:
      return x == threshold;
    default:
      return x != threshold;
  }
}

/// Small, since a prediction reads thousands of them.
struct TreeNode {
  double threshold = 0;
  std::uint32_t feature = 0;
  /// Indices of nodes; of a leaf its votes: the first, and the one behind the last.
  std::uint32_t if_true = 0, if_false = 0;
  std::uint32_t members = 0;  ///< index of the set that a node of mode `member` compares with
  TreeMode mode = TreeMode::leaf;
  bool missing_is_true = false;
};

struct TreeVote {
  std::uint32_t target = 0;
  double weight = 0;
};

/// Indices are within their lists. Nodes may form a cycle, features and targets may be any.
struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<TreeVote> votes;
  std::vector<std::vector<double>> members;  ///< sorted
  std::vector<std::uint32_t> roots;

  std::span<const TreeVote> votes_of(const TreeNode& leaf) const {
    return std::span(votes).subspan(leaf.if_true, leaf.if_false - leaf.if_true);
  }
};

/// Thrown by the readers for attributes that are no trees.
struct MalformedTrees : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The numbers of a tensor of an attribute.
using ReadReals = std::function<std::vector<double>(const ir::Tensor&)>;

/// From the attributes nodes_* and `votes`_* (class or target) of TreeEnsembleClassifier and TreeEnsembleRegressor.
TreeEnsemble read_listed_trees(const NodeAttributes& attributes, std::string_view votes, const ReadReals& read);
/// From those of TreeEnsemble.
TreeEnsemble read_indexed_trees(const NodeAttributes& attributes, const ReadReals& read);

/// The attribute `name`, or `name`_as_tensor.
std::vector<double> reals_or_tensor(const NodeAttributes& attributes, std::string_view name, const ReadReals& read);

}  // namespace onnxkit::spec
