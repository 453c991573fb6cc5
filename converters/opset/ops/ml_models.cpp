#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "converters/opset/compose/tree_ensemble.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

// ---- numbers as tensors of doubles, from version 3 on

/// Down: floats again, where they hold the same numbers.
void tensors_to_floats(Step& step) {
  for (const std::string_view name :
       {"base_values", "class_weights", "target_weights", "nodes_values", "nodes_hitrates"}) {
    const std::string as_tensor = std::string(name) + "_as_tensor";
    if (!step.has(as_tensor)) continue;
    std::vector<float> floats;
    for (const double number : reals_or_tensor(step, name)) {
      floats.push_back(static_cast<float>(number));
      if (static_cast<double>(floats.back()) != number)
        refuse(fmt::format("{} contains numbers that float cannot represent exactly", as_tensor));
    }
    step.remove(as_tensor);
    step.set({name, floats});
  }
}

// ---- TreeEnsemble from version 5 on

template <std::size_t n>
std::int64_t number_of(const std::array<std::string_view, n>& names, const std::string& name,
                       std::string_view attribute) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse(fmt::format("{} is {}", attribute, name));
  return found - names.begin();
}

constexpr std::array<std::string_view, 5> transforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
constexpr std::array<std::string_view, 4> aggregates = {"AVERAGE", "SUM", "MIN", "MAX"};

std::int64_t post_transform_of(const Step& step) {
  return number_of(transforms, step.string("post_transform", "NONE"), "post_transform");
}

constexpr std::int64_t no_transform = 0, softmax = 1, logistic = 2, softmax_zero = 3;
constexpr std::int64_t average = 0, sum_ml_models = 1;

/// Nodes of ai.onnx stand beside the ensemble, in whatever opset the model imports. Cast is all of them that opset 6 changed.
void import_main_opset(ir::Model& model, std::vector<ir::Node>& added) {
  const auto version = ir::opset_of(model.opset_imports, "");
  if (!version) {
    ir::OpsetImport& import = model.opset_imports.emplace_back();
    import.version = 13;
  }
  if (!version || *version >= 6) return;
  for (ir::Node& node : added) {
    if (node.op_type != "Cast") continue;
    ir::Attribute& to = node.attributes.front();
    const auto* type = to.as<std::int64_t>();
    const auto target = static_cast<ElementType>(type ? *type : 0);
    to.payload = model.keep(target == ElementType::float64   ? "DOUBLE"
                            : target == ElementType::float16 ? "FLOAT16"
                                                             : "FLOAT");
    to.type = ir::attribute_type_of(to.payload);
  }
}

void need_main_opset(Step& step) {
  if (step.in_function())
    refuse_unknown(
        "the rewrite adds nodes of ai.onnx, and the opset of ai.onnx that the function imports is not checked");
  step.finish([](ir::Model& model, ir::Node&, std::vector<ir::Node>& added) { import_main_opset(model, added); });
}

ValueId converted(Step& step, ValueId value, ElementType type) {
  need_main_opset(step);
  return step.add("Cast", {value}, {{"to", static_cast<std::int64_t>(type)}}, "as_type");
}

void convert_into(Step& step, ValueId value, ElementType type, ValueId result) {
  need_main_opset(step);
  step.emit("Cast", {value}, {result}, {{"to", static_cast<std::int64_t>(type)}});
}

bool has_double_numbers(const Step& step) {
  return step.has("nodes_values_as_tensor") || step.has("target_weights_as_tensor") ||
         step.has("base_values_as_tensor");
}

/// An ensemble, and what is done to its scores behind it. ONNX Runtime takes the numbers of SOFTMAX and LOGISTIC for each other in TreeEnsemble, so that
/// these are nodes of their own, of which there are no two readings.
void emit_transformed(Step& step, const Trees& trees, EnsembleOptions options, ValueId x, ValueId y) {
  const std::int64_t transform = options.post_transform;
  if (transform != softmax && transform != logistic) return emit_ensemble(step, trees, options, x, y);
  need_main_opset(step);
  options.post_transform = no_transform;
  const ValueId raw = step.value("raw_scores");
  emit_ensemble(step, trees, options, x, raw);
  if (transform == softmax)
    step.emit("Softmax", {raw}, {y}, {{"axis", std::int64_t{1}}});
  else
    step.emit("Sigmoid", {raw}, {y});
}

/// Leaves say one thing each: those that have several votes stand in as many copies of their tree.
void set_copies(const Trees& trees, EnsembleOptions& options) {
  options.copies = trees.most_votes();
  if (options.aggregate == sum_ml_models) return;
  if (options.aggregate == average) {
    options.copies = std::bit_ceil(options.copies);
    options.factor = static_cast<double>(options.copies);
    return;
  }
  if (trees.has_leaf_without_votes())
    refuse("a leaf has no vote, but every leaf of TreeEnsemble enters the minimum or maximum");
  options.repeats_votes = true;
}

/// Scaler subtracts, and gives float.
void add_base(Step& step, ValueId scores, const std::vector<double>& base) {
  std::vector<float> offsets;
  for (const double number : base) offsets.push_back(static_cast<float>(-number));
  const std::vector<float> ones(base.size(), 1.0F);
  step.emit("Scaler", {scores}, {step.output(0)}, {{"offset", offsets}, {"scale", ones}}).domain =
      step.keep("ai.onnx.ml");
}

/// The regressor itself; base values are trees of their own, or a Scaler where the trees are not summed up.
void regressor_to_ensemble(Step& step) {
  Trees trees = read_trees(step, "target");
  EnsembleOptions options;
  options.targets = step.integer("n_targets", 1);
  options.aggregate = number_of(aggregates, step.string("aggregate_function", "SUM"), "aggregate_function");
  options.post_transform = post_transform_of(step);
  const ElementType given = step.need_elem(step.input(0));
  const bool is_float = given == ElementType::float32 && !has_double_numbers(step);
  options.type = is_float ? ElementType::float32 : ElementType::float64;
  const std::vector<double> base = reals_or_tensor(step, "base_values");
  const bool is_moved = options.aggregate != sum_ml_models &&
                        std::any_of(base.begin(), base.end(), [](double number) { return number != 0; });
  if (is_moved && options.post_transform != no_transform)
    refuse(
        "base_values are added to an aggregate other than a sum before post_transform, which TreeEnsemble cannot "
        "express");
  for (std::size_t i = 0; i < base.size() && options.aggregate == sum_ml_models; ++i) {
    if (base[i] != 0) trees.add_constant(static_cast<std::int64_t>(i), base[i]);
  }
  set_copies(trees, options);
  const ValueId x = given == options.type ? step.input(0) : converted(step, step.input(0), options.type);
  const ValueId y = is_float && !is_moved ? step.output(0) : step.value("scores");
  emit_transformed(step, trees, options, x, y);
  if (is_moved)
    add_base(step, y, base);
  else if (!is_float)
    convert_into(step, y, ElementType::float32, step.output(0));
  step.replace();
}

template <std::size_t n>
std::string name_at(const std::array<std::string_view, n>& names, std::int64_t number, std::string_view attribute) {
  if (number < 0 || static_cast<std::uint64_t>(number) >= n) refuse(fmt::format("{} is {}", attribute, number));
  return std::string(names[static_cast<std::size_t>(number)]);
}

/// Down: TreeEnsembleRegressor, which gives float.
void ensemble_to_regressor(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  if (type == ElementType::float64) refuse("TreeEnsembleRegressor returns float only, and the result is double");
  const Trees trees = read_ensemble(step);
  const bool is_float = type == ElementType::float32;
  const ValueId x = is_float ? step.input(0) : converted(step, step.input(0), ElementType::float32);
  const ValueId y = is_float ? step.output(0) : step.value("scores");
  const std::string aggregate =
      name_at(aggregates, step.integer("aggregate_function", sum_ml_models), "aggregate_function");
  const std::string transform = name_at(transforms, step.integer("post_transform"), "post_transform");
  std::vector<ir::Attribute> attributes = listed_trees(step, trees);
  attributes.push_back(step.attribute({"n_targets", step.integer("n_targets", 1)}));
  attributes.push_back(step.attribute({"aggregate_function", aggregate}));
  attributes.push_back(step.attribute({"post_transform", transform}));
  ir::Node& node = step.emit("TreeEnsembleRegressor", {x}, {y});
  node.domain = step.keep("ai.onnx.ml");
  node.attributes = std::move(attributes);
  if (!is_float) convert_into(step, y, type, step.output(0));
  step.replace();
}

// ---- classifier

/// Two classes of which the leaves vote for one only: its sum decides against a threshold.
struct BinaryVotes {
  bool all_positive;
  bool for_second;
};

std::optional<BinaryVotes> binary_votes(const Trees& trees, std::size_t classes) {
  std::set<std::int64_t> named;
  bool all_positive = true;
  for (const TreeNode& node : trees.nodes) {
    for (const TreeNode::Vote& vote : node.votes) {
      named.insert(vote.target);
      all_positive = all_positive && vote.weight >= 0;
    }
  }
  if (classes != 2 || named.size() != 1) return std::nullopt;
  return BinaryVotes{all_positive, *named.begin() == 1};
}

/// Trees of the label, decided by the greatest, and of the scores.
struct Classifier {
  Trees label, scores;
  std::int64_t post_transform;
  bool is_one = false;  ///< both are the same
};

Classifier several_classes(Trees trees, const std::vector<double>& base, std::int64_t post) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (base[i] != 0) trees.add_constant(static_cast<std::int64_t>(i), base[i]);
  }
  return {trees, trees, post, post == no_transform};
}

Classifier two_classes(const Trees& trees, const BinaryVotes& votes, const std::vector<double>& base,
                       std::int64_t post) {
  Classifier made{trees, trees, post};
  const bool is_share = votes.all_positive && post != logistic;
  for (std::size_t i = 0; i < trees.nodes.size(); ++i) {
    for (std::size_t k = 0; k < trees.nodes[i].votes.size(); ++k) {
      const double weight = trees.nodes[i].votes[k].weight;
      made.label.nodes[i].votes[k].target = made.scores.nodes[i].votes[k].target = 1;
      if (!votes.for_second) made.scores.nodes[i].votes.push_back({0, -weight});
    }
  }
  if (!base.empty()) {
    made.label.add_constant(1, base.back());
    made.scores.add_constant(1, base.back());
    if (!votes.for_second) made.scores.add_constant(0, -base.back());
  }
  made.label.add_constant(0, votes.all_positive ? 0.5 : 0);
  if (votes.for_second) {
    if (base.size() == 2) made.scores.add_constant(0, base.front());
    return made;
  }
  if (is_share) made.scores.add_constant(0, 1);
  if (post == softmax || post == softmax_zero) made.post_transform = no_transform;
  return made;
}

/// The label at the index of the greatest score.
void emit_label(Step& step, ValueId scores, std::size_t classes, ValueId result) {
  const ValueId index =
      step.add("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}}, "top_class");
  List indices;
  for (std::size_t i = 0; i < classes; ++i) indices.push_back(static_cast<std::int64_t>(i));
  ir::Node& label = step.emit("LabelEncoder", {index}, {result}, {{"keys_int64s", indices}});
  label.domain = step.keep("ai.onnx.ml");
  for (const auto& [from, to] :
       {std::pair("classlabels_int64s", "values_int64s"), std::pair("classlabels_strings", "values_strings")}) {
    const ir::Attribute* found = step.node().find_attribute(from);
    if (!found) continue;
    label.attributes.push_back(clone(*found));
    label.attributes.back().name = step.keep(to);
  }
}

std::size_t class_count(const Step& step) {
  for (const std::string_view name : {"classlabels_int64s", "classlabels_strings"}) {
    if (step.is_reference(name)) refuse_unknown(fmt::format("the function's caller sets attribute {}", name));
    const ir::Attribute* found = step.node().find_attribute(name);
    if (!found) continue;
    if (const auto* words = found->as<std::vector<Text>>()) return words->size();
    if (const auto* numbers = found->as<List>()) return numbers->size();
  }
  refuse("the model has no classes");
}

/// In double, so that labels and scores are those of the sums before they are rounded to float.
void classifier_to_ensemble(Step& step) {
  need_main_opset(step);
  const Trees trees = read_trees(step, "class");
  const std::size_t classes = class_count(step);
  const std::vector<double> base = reals_or_tensor(step, "base_values");
  const auto binary = binary_votes(trees, classes);
  if (!base.empty() && base.size() != classes && !(binary && base.size() == 1))
    refuse("base_values must have one entry per class");
  const std::int64_t post = post_transform_of(step);
  const Classifier made = binary ? two_classes(trees, *binary, base, post) : several_classes(trees, base, post);
  const ElementType type = ElementType::float64;
  const ValueId x = step.need_elem(step.input(0)) == type ? step.input(0) : converted(step, step.input(0), type);
  EnsembleOptions options{.type = type, .targets = static_cast<std::int64_t>(classes)};
  const auto ensemble = [&](const Trees& of, std::int64_t transform, std::string_view hint) {
    EnsembleOptions own = options;
    own.post_transform = transform;
    own.copies = of.most_votes();
    const ValueId result = step.value(hint);
    emit_transformed(step, of, own, x, result);
    return result;
  };
  const bool wants_label = step.output(0) != ValueId::none, wants_scores = step.output(1) != ValueId::none;
  ValueId scores = ValueId::none;
  if (wants_scores || made.is_one) scores = ensemble(made.scores, made.post_transform, "scores");
  if (wants_label) {
    const ValueId votes = made.is_one ? scores : ensemble(made.label, no_transform, "votes");
    emit_label(step, votes, classes, step.output(0));
  }
  if (wants_scores) convert_into(step, scores, ElementType::float32, step.output(1));
  step.replace();
}

}  // namespace

void register_ml_models(StepRegistry& registry) {
  registry.change({"ai.onnx.ml::TreeEnsembleClassifier", "ai.onnx.ml::TreeEnsembleRegressor"}, 3,
                  compatible("numbers may also be tensors of double"),
                  adapt("tensors of double become floats if these represent them exactly", tensors_to_floats));
  registry.deprecated({"ai.onnx.ml::TreeEnsembleRegressor"}, 5,
                      adapt("rewritten as TreeEnsemble, with Softmax or Sigmoid", regressor_to_ensemble));
  registry.deprecated(
      {"ai.onnx.ml::TreeEnsembleClassifier"}, 5,
      adapt("rewritten as TreeEnsemble, ArgMax and LabelEncoder, with Softmax or Sigmoid", classifier_to_ensemble));
  registry.introduced({"ai.onnx.ml::TreeEnsemble"}, 5,
                      adapt("rewritten as TreeEnsembleRegressor", ensemble_to_regressor));
}

}  // namespace onnxkit::opset
