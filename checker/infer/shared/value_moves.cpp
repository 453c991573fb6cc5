#include "checker/infer/shared/value_moves.h"

#include <fmt/core.h>

#include "checker/infer/shared/shape_rules.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::checker {

std::optional<std::vector<std::int64_t>> constant_sizes(std::span<const Dim> shape) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(shape.size());
  for (const Dim d : shape) {
    if (!d.is_constant() || d.constant() < 0) return std::nullopt;
    sizes.push_back(d.constant());
  }
  return sizes;
}

std::optional<std::vector<std::int64_t>> constant_input_sizes(const InferContext& context, std::size_t input) {
  const Shape* shape = context.input_shape(input);
  return shape ? constant_sizes(*shape) : std::nullopt;
}

std::optional<std::size_t> small_count(std::span<const std::int64_t> sizes) {
  const auto count = checked_element_count(sizes);
  if (!count || *count > static_cast<std::int64_t>(Constant::max_elements)) return std::nullopt;
  return static_cast<std::size_t>(*count);
}

std::size_t flat_index(std::span<const std::int64_t> sizes, std::span<const std::int64_t> coordinates) {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) index = index * sizes[axis] + coordinates[axis];
  return static_cast<std::size_t>(index);
}

const Constant* movable_value(InferContext& context, std::size_t input) {
  const Constant* value = context.input_value(input);
  if (!value || constant_input_sizes(context, input) != value->shape) return nullptr;
  return small_count(value->shape) == value->elements.size() ? value : nullptr;
}

void keep_elements(InferContext& context) {
  const Constant* value = movable_value(context, 0);
  const std::optional<Shape>& shape = context.output_type(0).shape;
  if (!value || !shape) return;
  auto sizes = constant_sizes(*shape);
  if (!sizes || small_count(*sizes) != value->elements.size()) return;
  context.set_value(0, {.type = value->type, .shape = std::move(*sizes), .elements = value->elements});
}

std::optional<std::size_t> vector_length(InferContext& context, std::size_t input) {
  if (rank_differs(context, input, 1)) return std::nullopt;
  const Shape* shape = context.input_shape(input);
  if (!shape || !shape->front().is_constant() || shape->front().constant() < 0) return std::nullopt;
  return static_cast<std::size_t>(shape->front().constant());
}

void demand_length(InferContext& context, std::size_t input, std::size_t expected) {
  const Shape* shape = context.input_shape(input);
  if (shape && shape->size() == 1)
    context.demand(SizeRelation::equal, shape->front(), static_cast<std::int64_t>(expected));
}

bool length_differs(InferContext& context, std::size_t input, std::size_t expected, std::string_view one_for_each) {
  demand_length(context, input, expected);
  const std::optional<std::size_t> length = vector_length(context, input);
  if (!length || *length == expected) return false;
  context.error({.code = "shape-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{} requires {}", context.schema().name, one_for_each),
                 .expected = fmt::format("[{}]", expected),
                 .found = fmt::format("[{}]", *length)});
  return true;
}

bool is_not_single(InferContext& context, std::size_t input, std::string_view code) {
  const auto sizes = constant_input_sizes(context, input);
  const auto count = sizes ? checked_element_count(*sizes) : std::nullopt;
  if (!count || *count == 1) return false;
  context.error({.code = code,
                 .at = at_input(input),
                 .message = fmt::format("{} requires a single number", context.schema().name),
                 .expected = "a scalar",
                 .found = context.text(*context.input_shape(input))});
  return true;
}

std::optional<Shape> sizes_from_content(InferContext& context, std::size_t input) {
  const std::optional<std::size_t> length = vector_length(context, input);
  const Constant* value = movable_value(context, input);
  if (!value || value->shape.size() != 1) {
    return length && *length <= max_rank ? std::optional(unknown_sizes(*length)) : std::nullopt;
  }
  Shape sizes = value->dims();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_constant() || sizes[i].constant() >= 0) continue;
    context.error({.code = "negative-size",
                   .at = at_input(input),
                   .message = fmt::format("entry {} is a negative size", i),
                   .expected = "sizes of 0 or more",
                   .found = context.text(sizes)});
    sizes[i] = Dim();
  }
  return sizes;
}

IntegerList list_from_attribute(InferContext& context, std::string_view attribute) {
  IntegerList list;
  list.values = context.integers(attribute);
  list.present = list.values.has_value();
  if (list.values) list.length = list.values->size();
  list.at = at_attribute(attribute);
  return list;
}

IntegerList list_from_input(InferContext& context, std::size_t input) {
  IntegerList list;
  list.present = context.has_input(input);
  list.at = at_input(input);
  if (!list.present) return list;
  list.length = context.input_rank(input) == 0 ? 1 : vector_length(context, input);
  list.values = context.constant_integers(input);
  return list;
}

void check_indices(InferContext& context, std::size_t input, Dim size) {
  const Constant* indices = context.input_value(input);
  if (!indices) return;
  for (const Scalar& element : indices->elements) {
    const Dim index = element.dim();
    if (!index.is_constant()) continue;
    context.demand(SizeRelation::at_most,
                   index.constant() < 0 ? context.dims().sub(0, index) : context.dims().add(index, 1), size);
  }
  if (!size.is_constant()) return;
  const std::int64_t limit = size.constant();
  for (const Scalar& element : indices->elements) {
    const Dim index = element.dim();
    if (!index.is_constant() || (index.constant() >= -limit && index.constant() < limit)) continue;
    context.error({.code = "index-range",
                   .at = at_input(input),
                   .message = fmt::format("index {} is outside the axis of size {}", index.constant(), limit),
                   .expected = limit == 0 ? "no index" : fmt::format("{} to {}", -limit, limit - 1),
                   .found = fmt::format("{}", index.constant())});
    return;
  }
}

}  // namespace onnxkit::checker
