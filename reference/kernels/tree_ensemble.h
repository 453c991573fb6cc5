#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/spec/tree_ensemble.h"
#include "reference/executor/kernel.h"

// What tree ensembles of ai.onnx.ml say of rows.
namespace onnxkit::reference {

enum class Aggregate { average, sum, min, max };

struct TreeEnsemble : spec::TreeEnsemble {
  /// The leaf that a row of features ends in; Fault when the path does not end.
  const spec::TreeNode& leaf_of(std::uint32_t root, std::span<const double> row) const;
  /// What all trees say of each of `count` rows, for each target; a target without votes gets 0. With the errors of sums, where there are any: those
  /// of rows of other keys are others; the key of the first is `key`.
  void predict(std::span<const double> rows, std::size_t count, Aggregate how, std::span<double> targets,
               const Noise* noise = nullptr, std::uint64_t key = 0) const;

 private:
  bool holds(const spec::TreeNode& node, double x) const;
  /// `squares` of the weights, where they are wanted.
  void add_votes(const spec::TreeNode& leaf, Aggregate how, std::span<double> scores, std::span<double> squares,
                 std::span<char> voted) const;
};

/// From the attributes nodes_* and `votes`_* (class or target) of TreeEnsembleClassifier and TreeEnsembleRegressor.
TreeEnsemble read_listed_trees(const KernelContext& context, std::string_view votes);
/// From those of TreeEnsemble.
TreeEnsemble read_indexed_trees(const KernelContext& context);

/// The attribute `name`, or `name`_as_tensor.
std::vector<double> reals_or_tensor(const KernelContext& context, std::string_view name);

}  // namespace onnxkit::reference
