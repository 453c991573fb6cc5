#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/executor/kernel.h"

// Tree ensembles of ai.onnx.ml in one form, whichever operator they come from.
namespace onnxkit::reference {

enum class TreeMode { leq, lt, gte, gt, eq, neq, member, leaf };

struct TreeNode {
  TreeMode mode = TreeMode::leaf;
  std::size_t feature = 0;
  double threshold = 0;
  bool missing_is_true = false;
  std::size_t if_true = 0, if_false = 0;  ///< indices of nodes
  std::vector<double> members = {};       ///< sorted
  struct Vote {
    std::size_t target;
    double weight;
  };
  std::vector<Vote> votes = {};  ///< of a leaf
};

enum class Aggregate { average, sum, min, max };

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;

  /// The leaf that a row of features ends in; Fault when the path does not end.
  const TreeNode& leaf_of(std::size_t root, std::span<const double> row) const;
  /// What all trees say of a row, for each target; a target without votes gets 0. With the errors of sums, where there are any: those of rows of
  /// other keys are others.
  void predict(std::span<const double> row, Aggregate how, std::span<double> targets, const Noise* noise = nullptr,
               std::uint64_t key = 0) const;
};

/// From the attributes nodes_* and `votes`_* (class or target) of TreeEnsembleClassifier and TreeEnsembleRegressor.
TreeEnsemble read_listed_trees(const KernelContext& context, std::string_view votes);
/// From those of TreeEnsemble.
TreeEnsemble read_indexed_trees(const KernelContext& context);

/// The attribute `name`, or `name`_as_tensor.
std::vector<double> reals_or_tensor(const KernelContext& context, std::string_view name);

}  // namespace onnxkit::reference
