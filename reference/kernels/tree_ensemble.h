#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/executor/kernel.h"

// Tree ensembles of ai.onnx.ml in one form, whichever operator they come from.
namespace onnxkit::reference {

enum class TreeMode : std::uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };

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

enum class Aggregate { average, sum, min, max };

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<TreeVote> votes;
  std::vector<std::vector<double>> members;  ///< sorted
  std::vector<std::uint32_t> roots;

  /// The leaf that a row of features ends in; Fault when the path does not end.
  const TreeNode& leaf_of(std::uint32_t root, std::span<const double> row) const;
  std::span<const TreeVote> votes_of(const TreeNode& leaf) const {
    return std::span(votes).subspan(leaf.if_true, leaf.if_false - leaf.if_true);
  }
  /// What all trees say of each of `count` rows, for each target; a target without votes gets 0. With the errors of sums, where there are any: those
  /// of rows of other keys are others; the key of the first is `key`.
  void predict(std::span<const double> rows, std::size_t count, Aggregate how, std::span<double> targets,
               const Noise* noise = nullptr, std::uint64_t key = 0) const;

 private:
  bool holds(const TreeNode& node, double x) const;
  /// `squares` of the weights, where they are wanted.
  void add_votes(const TreeNode& leaf, Aggregate how, std::span<double> scores, std::span<double> squares,
                 std::span<char> voted) const;
};

/// From the attributes nodes_* and `votes`_* (class or target) of TreeEnsembleClassifier and TreeEnsembleRegressor.
TreeEnsemble read_listed_trees(const KernelContext& context, std::string_view votes);
/// From those of TreeEnsemble.
TreeEnsemble read_indexed_trees(const KernelContext& context);

/// The attribute `name`, or `name`_as_tensor.
std::vector<double> reals_or_tensor(const KernelContext& context, std::string_view name);

}  // namespace onnxkit::reference
