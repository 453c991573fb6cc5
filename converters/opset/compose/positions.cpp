#include "converters/opset/compose/positions.h"

#include <algorithm>

#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {

void chain(Step& step, ValueId x, std::vector<Link> links, ValueId output) {
  if (links.empty()) links.push_back({"Identity", {}, {}});
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::vector<ValueId> inputs = {x};
    inputs.insert(inputs.end(), links[i].more_inputs.begin(), links[i].more_inputs.end());
    const bool is_last = i + 1 == links.size();
    x = is_last ? output : step.value(links[i].op);
    step.emit(links[i].op, std::move(inputs), {x}, std::move(links[i].attributes));
  }
}

ValueId arithmetic(Step& step, std::string_view op, ValueId a, ValueId b, std::string_view hint) {
  if (step.opset_after() >= 7) return step.add(op, {a, b}, {}, hint);
  return step.add(op, {a, b}, {{"broadcast", std::int64_t{1}}}, hint);
}

namespace {

/// What the model promises of one of its outputs. Declarations inside the graph may be stale.
const ir::ValueInfo* declaration(const ir::Graph& graph, ValueId value) {
  for (const ir::ValueInfo& info : graph.outputs) {
    if (info.value == value && info.type && info.type->kind == ir::DeclaredType::Kind::tensor && info.type->shape)
      return &info;
  }
  return nullptr;
}

}  // namespace

std::optional<checker::Shape> promised_shape(Step& step, ValueId value) {
  const checker::Shape* inferred = step.shape(value);
  if (!inferred) return std::nullopt;
  checker::Shape shape = *inferred;
  const ir::ValueInfo* declared = value == ValueId::none ? nullptr : declaration(step.graph(), value);
  if (!declared || declared->type->shape->dims.size() != shape.size()) return shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto size = declared->type->shape->dims[i].value;
    if (shape[i].is_constant() || !size || *size < 0) continue;
    shape[i] = *size;
    step.rely_on_declaration(value);
  }
  return shape;
}

std::optional<std::vector<std::int64_t>> promised_sizes(Step& step, ValueId value) {
  const auto shape = promised_shape(step, value);
  if (!shape) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const checker::Dim size : *shape) {
    if (!size.is_constant()) return std::nullopt;
    sizes.push_back(size.constant());
  }
  return sizes;
}

ValueId reals(Step& step, const std::vector<double>& values) {
  return step.numbers(ElementType::float64, {static_cast<std::int64_t>(values.size())}, values, "reals");
}

ValueId counted_reals(Step& step, std::int64_t count) {
  std::vector<double> values;
  storable_count(std::span(&count, 1));
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return reals(step, values);
}

ValueId clamped(Step& step, ValueId x, ValueId least, ValueId most) {
  return step.add("Min", {step.add("Max", {x, least}, {}, "not_below"), most}, {}, "clamped");
}

ValueId product_of(Step& step, ValueId vector) {
  // 1 in front, as older versions do not say what the product of nothing is.
  const ValueId one = step.vector(std::vector<std::int64_t>{1});
  return reduce(step, "ReduceProd", step.add("Concat", {one, vector}, {{"axis", std::int64_t{0}}}, "factors"), {0});
}

ValueId sizes_of(Step& step, ValueId x, std::int64_t begin, std::int64_t end) {
  return slice(step, step.add("Shape", {x}, {}, "shape"), 0, begin, end, "sizes");
}

ValueId size_vector(Step& step, ValueId x, std::int64_t axis) {
  return sizes_of(step, x, axis, axis == -1 ? to_the_end : axis + 1);
}

ValueId rank_of(Step& step, ValueId x) { return step.add("Shape", {step.add("Shape", {x}, {}, "shape")}, {}, "rank"); }

ValueId with_zero_sizes(Step& step, ValueId x, ValueId shape) {
  const ValueId ones = step.add(
      "Expand", {step.vector(std::vector<std::int64_t>{1}), step.add("Shape", {shape}, {}, "new_rank")}, {}, "ones");
  const ValueId column = step.add("Concat", {step.vector(std::vector<std::int64_t>{-1}), ones},
                                  {{"axis", std::int64_t{0}}}, "column_shape");
  const ValueId not_empty = cast(step, cast(step, step.add("Size", {x}, {}, "elements"), ElementType::boolean),
                                 ElementType::int64, "not_empty");
  const ValueId sizes =
      step.add("Expand", {not_empty, step.add("Shape", {column}, {}, "column_rank")}, {}, "ones_or_zeros");
  return step.add("Expand", {step.add("Reshape", {x, column}, {}, "column"), sizes}, {}, "spread");
}

// Comparing in double keeps the sign and is there in every version.
ValueId nonnegative_indices(Step& step, ValueId data, ValueId indices, std::int64_t axis) {
  const ValueId index = cast(step, indices, ElementType::int64, "indices");
  const auto values = step.constant_integers(indices);
  if (values && std::all_of(values->begin(), values->end(), [](std::int64_t value) { return value >= 0; }))
    return index;
  const ValueId below_zero = arithmetic(step, "Less", cast(step, index, ElementType::float64, "real"),
                                        step.number(ElementType::float64, 0, "zero"), "is_negative");
  const ValueId size = squeeze(step, size_vector(step, data, axis), {0}, "size");
  const ValueId added =
      arithmetic(step, "Mul", cast(step, below_zero, ElementType::int64, "is_negative"), size, "added");
  return step.add("Add", {index, added}, {}, "indices");
}

void indices_from_front(Step& step, std::size_t data, std::size_t indices, std::int64_t axis) {
  const ValueId given = step.input(indices);
  const auto known = step.constant(given);
  const auto values = known ? known->constants() : std::nullopt;
  const checker::Shape* shape = step.shape(step.input(data));
  if (values) {
    if (std::all_of(values->begin(), values->end(), [](std::int64_t index) { return index >= 0; })) return;
    const std::int64_t at = axis < 0 && shape ? axis + static_cast<std::int64_t>(shape->size()) : axis;
    const bool has_axis = shape && at >= 0 && at < static_cast<std::int64_t>(shape->size());
    const checker::Dim size = has_axis ? (*shape)[static_cast<std::size_t>(at)] : checker::Dim();
    if (size.is_constant()) {
      std::vector<double> counted;
      for (const std::int64_t index : *values)
        counted.push_back(static_cast<double>(index < 0 ? index + size.constant() : index));
      return step.set_input(indices, step.numbers(known->type, known->shape, counted, "indices"));
    }
  }
  step.set_input(indices, nonnegative_indices(step, step.input(data), given, axis));
  step.note("negative indices made non-negative at run time");
}

ValueId intercept_output(Step& step, std::size_t output, std::string_view hint) {
  const ValueId result = step.value(hint);
  step.set_output(output, result);
  return result;
}

void reverse_axes_around(Step& step, std::size_t inputs) {
  for (std::size_t i = 0; i < std::min(inputs, step.input_count()); ++i) {
    if (step.has_input(i)) step.set_input(i, step.add("Transpose", {step.input(i)}, {}, "reversed"));
  }
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < step.output_count(); ++i)
    results.push_back(step.output(i) == ValueId::none ? ValueId::none : intercept_output(step, i, "of_reversed"));
  step.then();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] != ValueId::none) step.emit("Transpose", {results[i]}, {step.output(i)});
  }
}

void axis_from_front(Step& step, std::string_view attribute, std::size_t inputs) {
  const auto axis = step.find_integer(attribute);
  if (!axis || *axis >= 0) return;
  for (std::size_t i = 0; i < std::min(inputs, step.input_count()); ++i) {
    const auto rank = step.rank(step.input(i));
    if (!rank) continue;
    step.set({attribute, *axis + *rank});
    return;
  }
  reverse_axes_around(step, inputs);
  step.set({attribute, -*axis - 1});
  step.note("the rank is unknown: axes reversed before and after");
}

}  // namespace onnxkit::opset
