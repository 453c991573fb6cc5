// ai.onnx.ml: what prepares features for models, and what dresses up their results.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/ml_rules.h"

namespace onnxkit::checker {
namespace {

void infer_same_ml_features(InferContext& context) { context.copy_shape(0, 0); }

void infer_normalizer_ml_features(InferContext& context) {
  features_of(context, 0);
  context.copy_shape(0, 0);
}

void infer_scaler(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (shape && !shape->empty()) {
    one_or_each(context, "scale", shape->back());
    one_or_each(context, "offset", shape->back());
  }
  context.copy_shape(0, 0);
}

void infer_imputer(InferContext& context) {
  const std::string_view values = one_attribute(context, {"imputed_value_floats", "imputed_value_int64s"}, false);
  const Shape* shape = context.input_shape(0);
  if (shape && !shape->empty() && !values.empty()) one_or_each(context, values, shape->back());
  context.copy_shape(0, 0);
}

void equal_lengths(InferContext& context, std::string_view keys, std::string_view values) {
  const auto a = attribute_length(context, keys);
  const auto b = attribute_length(context, values);
  if (!a || !b || *a == *b) return;
  context.error({.code = "shape-mismatch",
                 .at = at_node(),
                 .message = fmt::format("{} and {} must have the same length", keys, values),
                 .expected = fmt::format("{} values", *a),
                 .found = fmt::format("{} values", *b)});
}

ElementType type_of_list(InferContext& context, std::string_view name) {
  if (name.ends_with("strings")) return ElementType::string;
  if (name.ends_with("int64s")) return ElementType::int64;
  if (name.ends_with("floats")) return ElementType::float32;
  const ir::Tensor* tensor = context.tensor(name);
  const bool known = tensor && tensor->data_type && is_known_element_type(*tensor->data_type);
  return known ? static_cast<ElementType>(*tensor->data_type) : ElementType::undefined;
}

void check_default_tensor(InferContext& context, ElementType value) {
  const ir::Tensor* tensor = context.tensor("default_tensor");
  if (!tensor) return;
  if (tensor->dims.size() != 1 || tensor->dims[0] != 1) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute("default_tensor"),
                   .message = "the default must be a vector of one element",
                   .expected = "[1]",
                   .found = context.text(Shape(tensor->dims.begin(), tensor->dims.end()))});
  }
  const ElementType type = type_of_list(context, "default_tensor");
  if (value != ElementType::undefined && type != ElementType::undefined && type != value) {
    context.error({.code = "type-mismatch",
                   .at = at_attribute("default_tensor"),
                   .message = "the default and the values have different types",
                   .expected = std::string(name_of(value)),
                   .found = std::string(name_of(type))});
  }
}

/// Version 1 maps strings to integers or back; from 2 on the attributes name both sides.
void infer_label_encoder(InferContext& context) {
  const ElementType input = context.input_elem(0);
  if (context.since() < 2) {
    if (input == ElementType::string) context.set_elem(0, ElementType::int64);
    if (input == ElementType::int64) context.set_elem(0, ElementType::string);
    return context.copy_shape(0, 0);
  }
  const std::string_view keys =
      one_attribute(context, {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"}, true);
  const std::string_view values =
      one_attribute(context, {"values_strings", "values_int64s", "values_floats", "values_tensor"}, true);
  if (keys.empty() || values.empty()) return context.copy_shape(0, 0);
  equal_lengths(context, keys, values);
  const ElementType key = type_of_list(context, keys);
  if (key != ElementType::undefined && input != ElementType::undefined && key != input) {
    context.error({.code = "type-mismatch",
                   .at = at_input(0),
                   .message = fmt::format("{} and the input have different types", keys),
                   .expected = std::string(name_of(key)),
                   .found = std::string(name_of(input))});
  }
  const ElementType value = type_of_list(context, values);
  check_default_tensor(context, value);
  if (value != ElementType::undefined) context.set_elem(0, value);
  context.copy_shape(0, 0);
}

void infer_category_mapper(InferContext& context) {
  equal_lengths(context, "cats_strings", "cats_int64s");
  if (context.input_elem(0) == ElementType::string) context.set_elem(0, ElementType::int64);
  if (context.input_elem(0) == ElementType::int64) context.set_elem(0, ElementType::string);
  context.copy_shape(0, 0);
}

void infer_one_hot_ml_features(InferContext& context) {
  const std::string_view categories = one_attribute(context, {"cats_int64s", "cats_strings"}, true);
  const Shape* shape = context.input_shape(0);
  if (!shape || categories.empty()) return;
  Shape result = *shape;
  result.emplace_back(static_cast<std::int64_t>(attribute_length(context, categories).value_or(0)));
  context.set_shape(0, std::move(result));
}

void infer_dict_vectorizer(InferContext& context) {
  const std::string_view vocabulary = one_attribute(context, {"string_vocabulary", "int64_vocabulary"}, true);
  const Type* input = context.input_type(0);
  if (input && input->element && input->element->elem != ElementType::undefined)
    context.set_elem(0, input->element->elem);
  if (!vocabulary.empty())
    context.set_shape(0, {1, static_cast<std::int64_t>(attribute_length(context, vocabulary).value_or(0))});
}

void infer_cast_map(InferContext& context) {
  const std::string_view to = context.string("cast_to");
  if (to == "TO_FLOAT") context.set_elem(0, ElementType::float32);
  if (to == "TO_INT64") context.set_elem(0, ElementType::int64);
  if (to == "TO_STRING") context.set_elem(0, ElementType::string);
  const bool sparse = context.string("map_form") == "SPARSE";
  const std::int64_t entries = context.integer("max_map", 1);
  if (sparse && entries < 1) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("max_map"),
                   .message = "a sparse map requires a width",
                   .expected = "1 or more",
                   .found = std::to_string(entries)});
    return;
  }
  context.set_shape(0,
                    {1, sparse ? Dim(entries) : context.data_dependent("entries", "the number of entries of the map")});
}

void infer_feature_vectorizer(InferContext& context) {
  const auto widths = context.integers("inputdimensions");
  if (widths && widths->size() != context.input_count()) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute("inputdimensions"),
                   .message = "inputdimensions must have one entry per input",
                   .expected = std::to_string(context.input_count()),
                   .found = std::to_string(widths->size())});
    return;
  }
  Dim rows, total = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Features features = features_of(context, i);
    if (rows.is_unknown()) rows = features.rows;
    context.demand(SizeRelation::equal, rows, features.rows);
    total = context.dims().add(total, widths ? Dim((*widths)[i]) : features.columns);
  }
  context.set_shape(0, {rows, total});
}

/// Picks columns of the last axis; a vector gives one row.
void infer_feature_extractor(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (!shape || !indices || shape->empty()) return;
  const auto picked = context.constant_integers(1);
  const Dim columns = shape->back();
  for (const std::int64_t column : picked.value_or(std::vector<std::int64_t>()))
    context.demand(SizeRelation::at_most, context.dims().add(column, 1), columns);
  for (std::size_t i = 0; picked && columns.is_constant() && i < picked->size(); ++i) {
    if ((*picked)[i] >= 0 && (*picked)[i] < columns.constant()) continue;
    context.error({.code = "index-range",
                   .at = at_input(1),
                   .message = fmt::format("column {} does not exist", (*picked)[i]),
                   .expected = fmt::format("0 to {}", columns.constant() - 1),
                   .found = std::to_string((*picked)[i])});
    return;
  }
  Shape result(shape->begin(), shape->end() - 1);
  if (result.empty()) result.emplace_back(1);
  result.push_back(product(context, *indices));
  context.set_shape(0, std::move(result));
}

void infer_zip_map(InferContext& context) {
  const std::string_view labels = one_attribute(context, {"classlabels_int64s", "classlabels_strings"}, true);
  const auto [rows, columns] = features_of(context, 0);
  if (labels.empty()) return;
  const Dim count = static_cast<std::int64_t>(attribute_length(context, labels).value_or(0));
  if (context.sizes_clash(columns, count)) {
    context.error({.code = "shape-mismatch",
                   .at = at_attribute(labels),
                   .message = "there must be one label per column",
                   .expected = context.text(columns),
                   .found = context.text(count)});
  }
  const ElementType key = labels == "classlabels_strings" ? ElementType::string : ElementType::int64;
  context.set_type(0, Type::sequence(Type::map(key, Type::tensor(ElementType::float32, {})), rows));
}

std::vector<ComparedNumber> binarizer_threshold(const ir::Node& node) {
  const ir::Attribute* threshold = node.find_attribute("threshold");
  const auto* number = threshold ? threshold->as<float>() : nullptr;
  return {{-1, number ? double{*number} : 0}};
}

}  // namespace

void register_ml_features(InferRegistry& registry) {
  registry.add(ml_domain, "Binarizer", all_versions(), infer_same_ml_features,
               {.inputs = {{0, Role::compared}}, .numbers = binarizer_threshold});
  registry.add(ml_domain, "Normalizer", all_versions(), infer_normalizer_ml_features);
  registry.add(ml_domain, "Scaler", all_versions(), infer_scaler);
  registry.add(ml_domain, "Imputer", all_versions(), infer_imputer);
  registry.add(ml_domain, "LabelEncoder", all_versions(), infer_label_encoder);
  registry.add(ml_domain, "CategoryMapper", all_versions(), infer_category_mapper);
  registry.add(ml_domain, "OneHotEncoder", all_versions(), infer_one_hot_ml_features);
  registry.add(ml_domain, "DictVectorizer", all_versions(), infer_dict_vectorizer);
  registry.add(ml_domain, "CastMap", all_versions(), infer_cast_map);
  registry.add(ml_domain, "FeatureVectorizer", all_versions(), infer_feature_vectorizer);
  registry.add(ml_domain, "ArrayFeatureExtractor", all_versions(), infer_feature_extractor,
               {.inputs = {{1, Role::label}}});
  registry.add(ml_domain, "ZipMap", all_versions(), infer_zip_map);
}

}  // namespace onnxkit::checker
