// ai.onnx.ml: tree ensembles. What the leaves say is summed in one step, in float64; base values, transforms and classes are maps behind it.
#include <algorithm>
#include <cmath>
#include <set>

#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/plan/ml_scores.h"
#include "libonnxkit/spec/tree_ensemble.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;
using spec::TreeEnsemble;
using spec::TreeMode;

/// Of a tensor of an attribute.
std::vector<double> attribute_reals(const ir::Tensor& tensor) {
  auto reader = ir::ElementReader::open(tensor);
  if (!reader) throw spec::MalformedTrees("its numbers lie in another file");
  std::vector<double> numbers(reader->count());
  if (reader->read(std::span(numbers)) != numbers.size()) throw spec::MalformedTrees("a tensor of numbers is damaged");
  return numbers;
}

bool fits_float(double x) { return static_cast<double>(static_cast<float>(x)) == x || std::isnan(x); }

/// Comparisons on the longest path from a root; nothing where a path does not end.
std::optional<std::int64_t> deepest_path(const TreeEnsemble& trees) {
  enum class Mark : std::uint8_t { unseen, open, ends };
  std::vector<Mark> marks(trees.nodes.size(), Mark::unseen);
  std::vector<std::int64_t> depths(trees.nodes.size());
  std::vector<std::uint32_t> path = trees.roots;
  while (!path.empty()) {
    const std::uint32_t at = path.back();
    const spec::TreeNode& node = trees.nodes[at];
    if (marks[at] != Mark::unseen || node.mode == TreeMode::leaf) {
      if (marks[at] == Mark::open) depths[at] = 1 + std::max(depths[node.if_true], depths[node.if_false]);
      marks[at] = Mark::ends;
      path.pop_back();
      continue;
    }
    marks[at] = Mark::open;
    for (const std::uint32_t next : {node.if_true, node.if_false}) {
      if (marks[next] == Mark::open) return std::nullopt;
      if (marks[next] == Mark::unseen) path.push_back(next);
    }
  }
  std::int64_t deepest = 0;
  for (const std::uint32_t root : trees.roots) deepest = std::max(deepest, depths[root]);
  return deepest;
}

constexpr char faulty_trees[] = "the reference tells what is wrong with its trees";

/// What a step cannot say of trees, or what ends a run of the reference that comes upon it.
std::string unfit_trees(const TreeEnsemble& trees, std::int64_t features, std::int64_t targets) {
  for (const spec::TreeNode& node : trees.nodes) {
    if (node.mode == TreeMode::member) return "it compares with sets of numbers";
    if (node.mode != TreeMode::leaf && static_cast<std::int64_t>(node.feature) >= features) return faulty_trees;
  }
  for (const spec::TreeVote& vote : trees.votes)
    if (static_cast<std::int64_t>(vote.target) >= targets) return faulty_trees;
  if (features > TreeKind::most_features || trees.votes.size() > INT32_MAX || trees.nodes.size() > INT32_MAX)
    return "the trees are too large";
  return trees.roots.empty() ? "there are no trees" : "";
}

std::int32_t kind_of(const spec::TreeNode& node) {
  const auto mode = static_cast<std::int32_t>(node.mode);
  if (node.mode == TreeMode::leaf) return mode;
  return (static_cast<std::int32_t>(node.feature) << TreeKind::feature_shift) | mode |
         (node.missing_is_true ? TreeKind::nan_holds : 0);
}

/// Rows and trees as operands of the step.
std::vector<View> operands_of(LowerCall& call, const TreeEnsemble& trees, const View& x) {
  const auto count = static_cast<std::int64_t>(trees.nodes.size());
  const bool is_float = x.type == ElementType::float32 &&
                        std::all_of(trees.nodes.begin(), trees.nodes.end(),
                                    [](const spec::TreeNode& node) { return fits_float(node.threshold); });
  View rows = feature_rows(call, is_float ? ElementType::float32 : ElementType::float64);
  if (!row_stride_of(rows)) rows = call.contiguous(rows);
  std::vector<float> floats;
  std::vector<double> thresholds, weights;
  std::vector<std::int32_t> nodes, roots, targets;
  for (const spec::TreeNode& node : trees.nodes) {
    if (is_float)
      floats.push_back(static_cast<float>(node.threshold));
    else
      thresholds.push_back(node.threshold);
    nodes.insert(nodes.end(),
                 {kind_of(node), static_cast<std::int32_t>(node.if_true), static_cast<std::int32_t>(node.if_false)});
  }
  for (const std::uint32_t root : trees.roots) roots.push_back(static_cast<std::int32_t>(root));
  for (const spec::TreeVote& vote : trees.votes)
    targets.push_back(static_cast<std::int32_t>(vote.target)), weights.push_back(vote.weight);
  const auto votes = static_cast<std::int64_t>(targets.size()), ends = static_cast<std::int64_t>(roots.size());
  return {rows,
          is_float ? table_constant<float>(call, floats, {count}) : table_constant<double>(call, thresholds, {count}),
          table_constant<std::int32_t>(call, nodes, {count, 3}),
          table_constant<std::int32_t>(call, roots, {ends}),
          table_constant<std::int32_t>(call, targets, {votes}),
          table_constant<double>(call, weights, {votes})};
}

/// What the trees say of rows [rows, targets], of float64.
struct TreeSums {
  View sums;
  std::string refused = {};
};

TreeSums tree_sums(LowerCall& call, const TreeEnsemble& trees, std::int64_t targets, Reduction reduction) {
  if (auto reason = unfit_features(call)) return {{}, *reason};
  const View& x = call.input(0);
  if (targets < 1) return {{}, "there are no targets"};
  if (auto reason = unfit_trees(trees, x.dims.back(), targets); !reason.empty()) return {{}, reason};
  const auto deepest = deepest_path(trees);
  if (!deepest) return {{}, faulty_trees};
  TreeEnsembleParameters parameters;
  parameters.reduction = reduction;
  parameters.deepest = *deepest;
  std::vector<View> operands = operands_of(call, trees, x);
  const View sums = call.make_sums(ElementType::float64, {operands[0].dims[0], targets});
  call.emit(tree_ensemble_step, std::move(operands), {sums}, parameters);
  return {sums};
}

// ---- what is done to the sums

/// Row by row with these numbers added, which are one for each column or none.
View with_base(LowerCall& call, const View& sums, const std::vector<double>& base) {
  if (base.empty()) return sums;
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f64), e.input(1, Lane::f64));
  const View added = table_constant<double>(call, base, {static_cast<std::int64_t>(base.size())});
  return mapped(call, e, {sums, broadcast_to(added, sums.dims)}, ElementType::float64, sums.dims);
}

/// The sums as the scores that the model gives.
View scores_of(LowerCall& call, const View& sums, PostTransform how, ElementType stored) {
  const View scores = call.make(stored, sums.dims);
  write_scores(call, sums, how, scores);
  return scores;
}

std::optional<Reduction> reduction_of(LowerCall& call) {
  if (call.node().op_type == std::string_view("TreeEnsemble")) {
    constexpr Reduction numbered[] = {Reduction::mean, Reduction::sum, Reduction::minimum, Reduction::maximum};
    const std::int64_t number = call.integer("aggregate_function", 1);
    return number >= 0 && number < std::ssize(numbered) ? std::optional(numbered[number]) : std::nullopt;
  }
  const auto name = call.string("aggregate_function");
  if (name == "SUM") return Reduction::sum;
  if (name == "AVERAGE") return Reduction::mean;
  if (name == "MIN") return Reduction::minimum;
  if (name == "MAX") return Reduction::maximum;
  return std::nullopt;
}

Unlowered regress_by_trees(LowerCall& call, const TreeEnsemble& trees, const std::vector<double>& base) {
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  const auto reduction = reduction_of(call);
  const std::int64_t targets = call.integer("n_targets", 1);
  if (!reduction || (!base.empty() && std::ssize(base) != targets)) return "attributes of other forms";
  const TreeSums found = tree_sums(call, trees, targets, *reduction);
  if (!found.refused.empty()) return found.refused;
  const View scores =
      scores_of(call, with_base(call, found.sums, base), *transform, LowerCall::stored_type(call.output_type(0)));
  call.set_output(0, reshaped(scores, call.output_dims(0)));
  return std::nullopt;
}

/// Two classes of which the leaves vote for one only: its sum decides against a threshold (reference/ops/ml_trees.cpp).
struct OneClassVotes {
  bool all_positive = true;
  bool for_second = false;
};

std::optional<OneClassVotes> one_class_votes(const TreeEnsemble& trees, std::int64_t classes) {
  if (classes != 2 || trees.votes.empty()) return std::nullopt;
  OneClassVotes votes;
  votes.for_second = trees.votes.front().target == 1;
  for (const spec::TreeVote& vote : trees.votes) {
    if (vote.target != trees.votes.front().target) return std::nullopt;
    votes.all_positive = votes.all_positive && vote.weight >= 0;
  }
  return votes;
}

struct ClassifiedRows {
  View classes;  ///< int64, numbers of classes
  View scores;   ///< float32 [rows, classes]
};

ClassifiedRows classify_by_sum(LowerCall& call, const OneClassVotes& votes, const View& sums,
                               const std::vector<double>& base, PostTransform how) {
  const View own = sliced(sums, 1, votes.for_second ? 1 : 0, 1, 1);
  const View sum = with_base(call, own, base.empty() ? base : std::vector<double>{base.back()});
  Expression decided;
  decided.apply(Operation::less, decided.constant(Lane::f64, votes.all_positive ? 0.5 : 0),
                decided.input(0, Lane::f64));
  ClassifiedRows result;
  result.classes = mapped(call, decided, {sum}, ElementType::int64, sum.dims);
  const View both = call.make(ElementType::float64, sums.dims);
  Expression other;
  if (votes.for_second) {
    other.constant(Lane::f64, base.size() == 2 ? base[0] : 0);
  } else {
    const Number minuend = other.constant(Lane::f64, votes.all_positive && how != PostTransform::logistic ? 1 : 0);
    other.apply(Operation::subtract, minuend, other.input(0, Lane::f64));
  }
  call.emit_map(other, votes.for_second ? std::vector<View>{} : std::vector<View>{sum}, sliced(both, 1, 0, 1, 1));
  call.emit_copy(sum, sliced(both, 1, 1, 1, 1));
  const bool is_softmax = how == PostTransform::softmax || how == PostTransform::softmax_zero;
  result.scores =
      scores_of(call, both, is_softmax && !votes.for_second ? PostTransform::none : how, ElementType::float32);
  return result;
}

Unlowered classify_by_trees(LowerCall& call, const TreeEnsemble& trees, const std::vector<double>& base) {
  const auto labels = call.integers("classlabels_int64s");
  if (!labels || call.strings("classlabels_strings")) return "strings lie in no buffer";
  const auto transform = post_transform_of(call);
  if (!transform) return no_such_transform;
  const auto classes = std::ssize(*labels);
  const auto votes = one_class_votes(trees, classes);
  if (!base.empty() && std::ssize(base) != classes && !(votes && base.size() == 1)) return "attributes of other forms";
  const TreeSums found = tree_sums(call, trees, classes, Reduction::sum);
  if (!found.refused.empty()) return found.refused;
  ClassifiedRows result;
  if (votes) {
    result = classify_by_sum(call, *votes, found.sums, base, *transform);
  } else {
    const View sums = with_base(call, found.sums, base);
    result = {first_greatest(call, sums, 1), scores_of(call, sums, *transform, ElementType::float32)};
  }
  if (call.has_output(0)) give_labels(call, *labels, result.classes);
  if (call.has_output(1)) call.set_output(1, reshaped(result.scores, call.output_dims(1)));
  return std::nullopt;
}

Unlowered lower_trees(LowerCall& call) {
  const auto op = call.node().op_type;
  const bool is_classifier = op == std::string_view("TreeEnsembleClassifier");
  try {
    if (op == std::string_view("TreeEnsemble"))
      return regress_by_trees(call, spec::read_indexed_trees(call, attribute_reals), {});
    const auto base = spec::reals_or_tensor(call, "base_values", attribute_reals);
    const TreeEnsemble trees = spec::read_listed_trees(call, is_classifier ? "class" : "target", attribute_reals);
    return is_classifier ? classify_by_trees(call, trees, base) : regress_by_trees(call, trees, base);
  } catch (const spec::MalformedTrees&) {
    return faulty_trees;
  }
}

}  // namespace

void register_ml_trees(LoweringRegistry& registry);
void register_ml_trees(LoweringRegistry& registry) {
  for (const char* op : {"TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"})
    registry.add("ai.onnx.ml", op, all_versions(), lower_trees);
}

}  // namespace onnxkit::plan
