// Constant: the value of its one attribute. A tensor in every version, a sparse tensor from version 11 on, numbers and strings from 12 on.
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

ElementType type_of(const ir::Tensor& tensor) {
  const auto number = tensor.data_type.value_or(0);
  return is_known_element_type(number) ? static_cast<ElementType>(number) : ElementType::undefined;
}

void set_sizes(InferContext& context, ElementType type, const std::vector<std::int64_t>& dims) {
  context.set_elem(0, type);
  const bool negative = std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; });
  if (!negative) context.set_shape(0, Shape(dims.begin(), dims.end()));
}

template <class T, class MakeScalar>
void set_vector(InferContext& context, ElementType type, const std::vector<T>& values, MakeScalar make_scalar) {
  set_sizes(context, type, {static_cast<std::int64_t>(values.size())});
  if (values.size() > Constant::max_elements) return;
  Constant value{.type = type, .shape = {static_cast<std::int64_t>(values.size())}, .elements = {}};
  for (const T& v : values) value.elements.push_back(make_scalar(v));
  context.set_value(0, std::move(value));
}

/// True when exactly one of the attributes that hold the value is there.
bool has_one_value(InferContext& context) {
  std::vector<std::string_view> possible, given;
  for (const spec::AttributeSchema& attribute : context.schema().attributes) {
    possible.push_back(attribute.name);
    if (context.has_attribute(attribute.name)) given.push_back(attribute.name);
  }
  if (given.size() == 1) return true;
  const bool none = given.empty();
  if (none && possible.size() == 1) return false;  // a required attribute; said elsewhere
  context.error({.code = none ? "missing-attribute" : "exclusive-attributes",
                 .at = at_node(),
                 .message = none ? "Constant requires a value attribute" : "Constant allows only one value attribute",
                 .expected = fmt::format("one of {}", fmt::join(possible, ", ")),
                 .found = none ? "none of them" : fmt::format("{}", fmt::join(given, ", "))});
  return false;
}

const ir::SparseTensor* sparse_value(InferContext& context) {
  const ir::Attribute* attribute = context.attribute("sparse_value");
  const auto* held = attribute ? attribute->as<std::unique_ptr<ir::SparseTensor>>() : nullptr;
  return held ? held->get() : nullptr;
}

void infer_constant(InferContext& context) {
  if (!has_one_value(context)) return context.lose_shape(0, "the Constant has no value, or several");
  const auto integer = [](std::int64_t v) { return Scalar::integer(v); };
  const auto real = [](float v) { return Scalar::real(v); };
  if (const ir::Tensor* tensor = context.tensor("value")) {
    set_sizes(context, type_of(*tensor), tensor->dims);
    if (auto content = context.tensor_content(*tensor)) context.set_value(0, std::move(*content));
  } else if (const ir::SparseTensor* sparse = sparse_value(context)) {
    set_sizes(context, sparse->values ? type_of(*sparse->values) : ElementType::undefined, sparse->dims);
  } else if (const auto number = context.find_integer("value_int")) {
    context.set_value(0, Constant::scalar(ElementType::int64, integer(*number)));
  } else if (const auto* numbers = context.list_as_written<std::int64_t>("value_ints")) {
    set_vector(context, ElementType::int64, *numbers, integer);
  } else if (const auto value = context.find_real("value_float")) {
    context.set_value(0, Constant::scalar(ElementType::float32, real(*value)));
  } else if (const auto* values = context.list_as_written<float>("value_floats")) {
    set_vector(context, ElementType::float32, *values, real);
  } else if (context.has_attribute("value_string")) {
    set_sizes(context, ElementType::string, {});
  } else if (const auto* texts = context.list_as_written<Text>("value_strings")) {
    set_sizes(context, ElementType::string, {static_cast<std::int64_t>(texts->size())});
  }
}

}  // namespace

void register_constant(InferRegistry& registry) {
  registry.add("Constant", all_versions(), infer_constant, {.is_constant = true});
}

}  // namespace onnxkit::checker
