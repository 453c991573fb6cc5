// ai.onnx.ml: tree ensembles. TreeEnsembleClassifier and TreeEnsembleRegressor list nodes by tree and id, from version 3 on with tensors of
// doubles for numbers, and are deprecated since 5, when TreeEnsemble came, which refers to nodes and leaves by index.
#include <algorithm>
#include <set>

#include "reference/kernels/ml.h"
#include "reference/kernels/tree_ensemble.h"

namespace onnxkit::reference {
namespace {

Aggregate aggregate_of(const KernelContext& context) {
  if (context.schema().name == "TreeEnsemble") {
    const std::int64_t number = context.integer("aggregate_function", 1);
    require(0 <= number && number <= 3, "aggregate_function is unknown");
    return static_cast<Aggregate>(number);
  }
  const std::string_view name = context.string("aggregate_function");
  if (name == "AVERAGE") return Aggregate::average;
  if (name == "MIN") return Aggregate::min;
  if (name == "MAX") return Aggregate::max;
  require(name == "SUM", "aggregate_function is unknown");
  return Aggregate::sum;
}

/// One row of targets for each row of features.
void regress(KernelContext& context, const std::function<TreeEnsemble()>& read, ElementType type) {
  const auto trees = context.derived<TreeEnsemble>(read);
  const Aggregate how = aggregate_of(context);
  const Noise* const noise = context.noise();
  const PostTransform post = post_transform_of(context);
  const std::vector<double> base =
      context.schema().name == "TreeEnsemble" ? std::vector<double>() : reals_or_tensor(context, "base_values");
  const Tensor rows = feature_rows(context, context.input(0));
  const std::int64_t targets = context.integer("n_targets", 1);
  require(targets >= 1, "at least one target is required");
  require(base.empty() || static_cast<std::int64_t>(base.size()) == targets,
          "base_values must have one entry per target");
  Tensor y = context.make(type, {rows.dim(0), targets});
  const auto features = static_cast<std::size_t>(rows.dim(1)), columns = static_cast<std::size_t>(targets);
  const std::span<double> out = y.write<double>();
  context.for_range(rows.dim(0), 64, [&](std::int64_t first, std::int64_t last) {
    const auto from = static_cast<std::size_t>(first), count = static_cast<std::size_t>(last - first);
    trees->predict(rows.as<double>().subspan(from * features, count * features), count, how,
                   out.subspan(from * columns, count * columns), noise, from);
    for (std::size_t i = from; i < from + count; ++i) {
      const std::span<double> scores = out.subspan(i * columns, columns);
      for (std::size_t k = 0; k < base.size(); ++k) scores[k] += base[k];
      transform(post, scores);
    }
  });
  context.set_output(0, std::move(y));
}

void tree_ensemble_regressor(KernelContext& context) {
  regress(
      context, [&] { return read_listed_trees(context, "target"); }, ElementType::float32);
}

void tree_ensemble(KernelContext& context) {
  regress(
      context, [&] { return read_indexed_trees(context); }, context.input(0).type());
}

// ---- classifier

/// Two classes of which the leaves vote for one only: its sum decides against a threshold.
struct BinaryVotes {
  bool all_positive;  ///< sums are probabilities, the threshold is 1/2; else it is 0
  bool for_second;    ///< the leaves name the second class
};

std::optional<BinaryVotes> binary_votes(const TreeEnsemble& trees, std::size_t classes) {
  if (classes != 2) return std::nullopt;
  std::set<std::uint32_t> named;
  bool all_positive = true;
  for (const spec::TreeVote& vote : trees.votes) {
    named.insert(vote.target);
    all_positive = all_positive && vote.weight >= 0;
  }
  if (named.size() != 1) return std::nullopt;
  return BinaryVotes{all_positive, *named.begin() == 1};
}

/// Label and scores of a row whose votes are all for one of two classes. Votes for the first class count for the second, as in ONNX Runtime.
std::int64_t finish_binary(const BinaryVotes& votes, PostTransform post, std::span<const double> base,
                           std::span<double> scores) {
  const double sum = scores[votes.for_second ? 1 : 0] + (base.empty() ? 0 : base.back());
  if (votes.for_second) {
    scores[0] = base.size() == 2 ? base[0] : 0;
  } else {
    scores[0] = votes.all_positive && post != PostTransform::logistic ? 1 - sum : -sum;
  }
  scores[1] = sum;
  const bool softmax = post == PostTransform::softmax || post == PostTransform::softmax_zero;
  if (votes.for_second || !softmax) transform(post, scores);
  return sum > (votes.all_positive ? 0.5 : 0) ? 1 : 0;
}

/// What the attributes of a classifier say.
struct Classifier {
  TreeEnsemble trees;
  std::optional<BinaryVotes> binary;
};

void tree_ensemble_classifier(KernelContext& context) {
  const ClassLabels labels(context, "classlabels_int64s", "classlabels_strings");
  const auto classifier = context.derived<Classifier>([&] {
    Classifier read{read_listed_trees(context, "class"), std::nullopt};
    read.binary = binary_votes(read.trees, labels.size());
    return read;
  });
  const TreeEnsemble& trees = classifier->trees;
  const auto& binary = classifier->binary;
  const PostTransform post = post_transform_of(context);
  const std::vector<double> base = reals_or_tensor(context, "base_values");
  const Tensor rows = feature_rows(context, context.input(0));
  const Noise* const noise = context.noise();
  require(labels.size() > 0, "the model has no classes");
  require(base.empty() || base.size() == labels.size() || (binary && base.size() == 1),
          "base_values must have one entry per class");
  Tensor z = context.make(ElementType::float32, {rows.dim(0), static_cast<std::int64_t>(labels.size())});
  const auto features = static_cast<std::size_t>(rows.dim(1)), columns = labels.size();
  const std::span<double> out = z.write<double>();
  std::vector<std::int64_t> classes(static_cast<std::size_t>(rows.dim(0)));
  context.for_range(rows.dim(0), 64, [&](std::int64_t first, std::int64_t last) {
    const auto from = static_cast<std::size_t>(first), count = static_cast<std::size_t>(last - first);
    trees.predict(rows.as<double>().subspan(from * features, count * features), count, Aggregate::sum,
                  out.subspan(from * columns, count * columns), noise, from);
    for (std::size_t i = from; i < from + count; ++i) {
      const std::span<double> scores = out.subspan(i * columns, columns);
      if (binary) {
        classes[i] = finish_binary(*binary, post, base, scores);
        continue;
      }
      for (std::size_t k = 0; k < base.size(); ++k) scores[k] += base[k];
      classes[i] = index_of_greatest(scores);
      transform(post, scores);
    }
  });
  context.set_output(0, labels.of(context, classes));
  context.set_output(1, std::move(z));
}

}  // namespace

void register_ml_trees(KernelRegistry& registry) {
  registry.add(ml_domain, "TreeEnsembleClassifier", all_versions(), tree_ensemble_classifier, {.noise = noise::trees});
  registry.add(ml_domain, "TreeEnsembleRegressor", all_versions(), tree_ensemble_regressor, {.noise = noise::trees});
  registry.add(ml_domain, "TreeEnsemble", all_versions(), tree_ensemble, {.noise = noise::trees});
}

}  // namespace onnxkit::reference
