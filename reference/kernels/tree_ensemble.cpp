#include "reference/kernels/tree_ensemble.h"

#include <algorithm>
#include <cmath>

#include "reference/noise/noise.h"

namespace onnxkit::reference {
namespace {

/// Calls `read` with what reads a tensor.
template <class Read>
auto read_trees(const KernelContext& context, const Read& read) {
  try {
    return read([&](const ir::Tensor& tensor) { return context.constant(tensor).reals(); });
  } catch (const spec::MalformedTrees& fault) {
    throw Fault(fault.what());
  }
}

}  // namespace

bool TreeEnsemble::holds(const spec::TreeNode& node, double x) const {
  if (std::isnan(x)) return node.missing_is_true;
  if (node.mode != spec::TreeMode::member) return spec::comparison_holds(node.mode, x, node.threshold);
  return std::binary_search(members[node.members].begin(), members[node.members].end(), x);
}

const spec::TreeNode& TreeEnsemble::leaf_of(std::uint32_t root, std::span<const double> row) const {
  const spec::TreeNode* node = &nodes[root];
  for (std::size_t steps = 0; node->mode != spec::TreeMode::leaf; ++steps) {
    require(steps < nodes.size(), "the nodes of a tree form a cycle");
    require(node->feature < row.size(), "a tree uses a feature id beyond the number of features");
    node = &nodes[holds(*node, row[node->feature]) ? node->if_true : node->if_false];
  }
  return *node;
}

void TreeEnsemble::add_votes(const spec::TreeNode& leaf, Aggregate how, std::span<double> scores,
                             std::span<double> squares, std::span<char> voted) const {
  for (const spec::TreeVote& vote : votes_of(leaf)) {
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
  return read_trees(context, [&](const spec::ReadReals& read) { return spec::reals_or_tensor(context, name, read); });
}

TreeEnsemble read_listed_trees(const KernelContext& context, std::string_view votes) {
  return {
      read_trees(context, [&](const spec::ReadReals& read) { return spec::read_listed_trees(context, votes, read); })};
}

TreeEnsemble read_indexed_trees(const KernelContext& context) {
  return {read_trees(context, [&](const spec::ReadReals& read) { return spec::read_indexed_trees(context, read); })};
}

}  // namespace onnxkit::reference
