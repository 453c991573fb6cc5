// ai.onnx.ml: linear models, support vector machines, tree ensembles. Labels are one per row, scores one row of class scores.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/ml_rules.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

constexpr std::uint64_t most_tree_nodes = 1 << 24;

void set_labels(InferContext& context, std::string_view labels, Dim rows) {
  const bool strings = labels.find("strings") != std::string_view::npos;
  context.set_tensor(0, strings ? ElementType::string : ElementType::int64, {rows});
}

std::int64_t label_count(InferContext& context, std::string_view labels) {
  return static_cast<std::int64_t>(attribute_length(context, labels).value_or(0));
}

void check_coefficients(InferContext& context, Dim features, std::int64_t targets) {
  const auto length = attribute_length(context, "coefficients");
  if (!length || targets < 1 || features.is_unknown()) return;
  const Dim expected = context.dims().mul(features, targets);
  const Dim given = static_cast<std::int64_t>(*length);
  if (!context.sizes_clash(expected, given)) return;
  context.error({.code = "shape-mismatch",
                 .at = at_attribute("coefficients"),
                 .message = "there must be one coefficient per feature of each class or target",
                 .expected = fmt::format("{} = {} * {}", context.text(expected), targets, context.text(features)),
                 .found = context.text(given)});
}

/// Nodes of trees compare columns of the features by number.
void need_tree_columns(InferContext& context, Dim columns) {
  const auto* numbers = context.list_as_written<std::int64_t>("nodes_featureids");
  if (!numbers || numbers->empty()) return;
  const std::int64_t last = *std::max_element(numbers->begin(), numbers->end());
  context.demand(SizeRelation::at_most, context.dims().add(last, 1), columns);
}

std::vector<double> listed_reals(const ir::Node& node, std::initializer_list<std::string_view> names) {
  std::vector<double> numbers;
  for (const std::string_view name : names) {
    const ir::Attribute* attribute = node.find_attribute(name);
    if (!attribute) continue;
    if (const auto* list = attribute->as<std::vector<float>>()) numbers.assign(list->begin(), list->end());
    auto reader = attribute->tensor() ? ir::ElementReader::open(*attribute->tensor()) : std::nullopt;
    if (!reader || reader->count() > most_tree_nodes) continue;
    numbers.resize(reader->count());
    numbers.resize(reader->read(numbers));
  }
  return numbers;
}

/// What trees compare columns with; leaves have numbers without a meaning.
std::vector<ComparedNumber> tree_thresholds(const ir::Node& node) {
  const ir::Attribute *columns = node.find_attribute("nodes_featureids"), *modes = node.find_attribute("nodes_modes");
  const auto* column_of = columns ? columns->as<std::vector<std::int64_t>>() : nullptr;
  const auto* mode_of = modes ? modes->as<std::vector<Text>>() : nullptr;
  const auto numbers = listed_reals(node, {"nodes_values", "nodes_values_as_tensor", "nodes_splits"});
  std::vector<ComparedNumber> thresholds;
  for (std::size_t i = 0; column_of && i < std::min(column_of->size(), numbers.size()); ++i) {
    const bool is_leaf = mode_of && i < mode_of->size() && (*mode_of)[i] == "LEAF";
    if (!is_leaf && (*column_of)[i] >= 0) thresholds.push_back({(*column_of)[i], numbers[i]});
  }
  return thresholds;
}

constexpr InferTraits trees{.inputs = {{0, Role::compared}}, .numbers = tree_thresholds};

/// `count` support vectors, or a single one of a linear model, have the length of a row of features.
void need_vector_columns(InferContext& context, std::int64_t count, Dim columns) {
  const std::string_view list = count > 0 ? "support_vectors" : "coefficients";
  const auto length = attribute_length(context, list);
  if (length && count >= 0)
    context.demand(SizeRelation::equal, context.dims().mul(columns, std::max<std::int64_t>(count, 1)),
                   static_cast<std::int64_t>(*length));
}

void infer_linear_classifier(InferContext& context) {
  const auto [rows, columns] = features_of(context, 0);
  const std::string_view labels = one_attribute(context, {"classlabels_ints", "classlabels_strings"}, false);
  const std::int64_t classes = label_count(context, labels);
  // A binary model may store the coefficients of one class only.
  const std::int64_t stored = static_cast<std::int64_t>(attribute_length(context, "intercepts").value_or(0));
  check_coefficients(context, columns, stored > 0 ? stored : classes > 2 ? classes : 0);
  set_labels(context, labels, rows);
  context.lose_shape(1, "the number of classes is not stated");
  context.set_tensor(1, ElementType::float32, {rows, classes > 1 ? Dim(classes) : Dim()});
}

void infer_linear_regressor(InferContext& context) {
  const auto [rows, columns] = features_of(context, 0);
  const std::int64_t targets = context.integer("targets", 1);
  check_coefficients(context, columns, targets);
  if (targets > 0) context.set_tensor(0, ElementType::float32, {rows, targets});
}

/// Without probabilities there is a score for each pair of classes.
void infer_svm_classifier(InferContext& context) {
  const Features features = features_of(context, 0);
  const std::string_view labels = one_attribute(context, {"classlabels_ints", "classlabels_strings"}, false);
  const std::int64_t classes = label_count(context, labels);
  const bool has_vectors = attribute_length(context, "vectors_per_class").value_or(0) > 0;
  if (const auto* counts = context.list_as_written<std::int64_t>("vectors_per_class"); counts && has_vectors) {
    Dim vectors = 0;
    for (const std::int64_t count : *counts) vectors = context.dims().add(vectors, count);
    if (vectors.is_constant() && vectors.constant() > 0)
      need_vector_columns(context, vectors.constant(), features.columns);
  }
  const bool pairwise = has_vectors && attribute_length(context, "prob_a").value_or(0) == 0;
  set_labels(context, labels, features.rows);
  constexpr std::int64_t many = 1'000'000;
  Dim scores;
  // Labels may be more than the classes that vectors are for.
  const std::int64_t scored = has_vectors ? *attribute_length(context, "vectors_per_class") : classes;
  if (scored > 1 && scored < many) scores = pairwise && scored > 2 ? scored * (scored - 1) / 2 : scored;
  context.lose_shape(1, "the number of scores is not stated");
  context.set_tensor(1, ElementType::float32, {features.rows, scores});
}

void infer_svm_regressor(InferContext& context) {
  const Features features = features_of(context, 0);
  need_vector_columns(context, context.integer("n_supports"), features.columns);
  context.set_tensor(0, ElementType::float32, {features.rows, 1});
}

/// All lists that describe tree nodes are equally long.
void check_node_lists(InferContext& context, std::string_view reference,
                      std::initializer_list<std::string_view> lists) {
  const auto expected = attribute_length(context, reference);
  if (!expected) return;
  for (const std::string_view name : lists) {
    const auto length = attribute_length(context, name);
    if (!length || *length == *expected) continue;
    context.error({.code = "shape-mismatch",
                   .at = at_attribute(name),
                   .message = fmt::format("{} must have one entry per tree node", name),
                   .expected = fmt::format("{}, as {}", *expected, reference),
                   .found = std::to_string(*length)});
  }
}

void check_trees(InferContext& context) {
  check_node_lists(context, "nodes_nodeids",
                   {"nodes_treeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_values_as_tensor",
                    "nodes_truenodeids", "nodes_falsenodeids", "nodes_hitrates", "nodes_hitrates_as_tensor",
                    "nodes_missing_value_tracks_true"});
}

void infer_tree_classifier(InferContext& context) {
  const Features features = features_of(context, 0);
  check_trees(context);
  need_tree_columns(context, features.columns);
  check_node_lists(context, "class_ids",
                   {"class_nodeids", "class_treeids", "class_weights", "class_weights_as_tensor"});
  const std::string_view labels = one_attribute(context, {"classlabels_int64s", "classlabels_strings"}, false);
  const std::int64_t classes = label_count(context, labels);
  set_labels(context, labels, features.rows);
  context.lose_shape(1, "the number of classes is not stated");
  context.set_tensor(1, ElementType::float32, {features.rows, classes > 1 ? Dim(classes) : Dim()});
}

/// What tensors hold for the nodes and leaves of a TreeEnsemble is of the input's type.
void check_tensor_types(InferContext& context) {
  const ElementType input = context.input_elem(0);
  if (input == ElementType::undefined) return;
  for (const char* name : {"nodes_splits", "nodes_hitrates", "leaf_weights", "membership_values"}) {
    const ir::Tensor* tensor = context.tensor(name);
    if (!tensor || tensor->data_type == static_cast<std::int32_t>(input)) continue;
    context.error({.code = "type-mismatch",
                   .at = at_attribute(name),
                   .message = fmt::format("{} and the input have different types", name),
                   .expected = std::string(name_of(input)),
                   .found = std::string(name_of(ir::element_type_of(*tensor)))});
  }
}

void infer_tree_regressor(InferContext& context) {
  const Features features = features_of(context, 0);
  need_tree_columns(context, features.columns);
  if (context.schema().name == "TreeEnsembleRegressor") {
    check_trees(context);
    check_node_lists(context, "target_ids",
                     {"target_nodeids", "target_treeids", "target_weights", "target_weights_as_tensor"});
  } else {
    check_node_lists(context, "nodes_featureids",
                     {"nodes_modes", "nodes_splits", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs",
                      "nodes_falseleafs", "nodes_hitrates", "nodes_missing_value_tracks_true"});
    check_node_lists(context, "leaf_targetids", {"leaf_weights"});
    check_tensor_types(context);
  }
  const auto targets = context.find_integer("n_targets");
  context.lose_shape(0, "the number of targets is not stated");
  if (targets && *targets < 1) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("n_targets"),
                   .message = "there must be at least one target",
                   .expected = "1 or more",
                   .found = std::to_string(*targets)});
    return;
  }
  context.set_shape(0, {features.rows, targets ? Dim(*targets) : Dim()});
}

}  // namespace

void register_ml_models(InferRegistry& registry) {
  registry.add(ml_domain, "LinearClassifier", all_versions(), infer_linear_classifier);
  registry.add(ml_domain, "LinearRegressor", all_versions(), infer_linear_regressor);
  registry.add(ml_domain, "SVMClassifier", all_versions(), infer_svm_classifier);
  registry.add(ml_domain, "SVMRegressor", all_versions(), infer_svm_regressor);
  registry.add(ml_domain, "TreeEnsembleClassifier", all_versions(), infer_tree_classifier, trees);
  registry.add(ml_domain, "TreeEnsembleRegressor", all_versions(), infer_tree_regressor, trees);
  registry.add(ml_domain, "TreeEnsemble", all_versions(), infer_tree_regressor, trees);
}

}  // namespace onnxkit::checker
