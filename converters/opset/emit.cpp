#include "converters/opset/emit.h"

#include <algorithm>

namespace onnxkit::opset {

Attr cast_target(const Step& step, ElementType to) {
  if (step.opset_after() >= 6) return {"to", static_cast<std::int64_t>(to)};
  // TensorProto.DataType's own name.
  std::string name(name_of(to));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return {"to", std::move(name)};
}

ValueId cast(Step& step, ValueId x, ElementType to, std::string_view hint) {
  return step.add("Cast", {x}, {cast_target(step, to)}, hint);
}

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

ValueId slice(Step& step, ValueId x, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& ends,
              const std::vector<std::int64_t>& axes, std::string_view hint) {
  if (step.opset_after() < 10)
    return step.add("Slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}}, hint);
  return step.add("Slice", {x, step.vector(starts, "starts"), step.vector(ends, "ends"), step.vector(axes, "axes")}, {},
                  hint);
}

namespace {

ValueId with_axes(Step& step, std::string_view op, ValueId x, const std::vector<std::int64_t>& axes,
                  std::string_view hint) {
  if (step.opset_after() < 13) return step.add(op, {x}, {{"axes", axes}}, hint);
  return step.add(op, {x, step.vector(axes, "axes")}, {}, hint);
}

}  // namespace

ValueId unsqueeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint) {
  return with_axes(step, "Unsqueeze", x, axes, hint);
}

ValueId squeeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint) {
  return with_axes(step, "Squeeze", x, axes, hint);
}

// Something that changes nothing is put in front, as of nothing older versions say no result.
ValueId sum_of(Step& step, ValueId vector) {
  const ValueId all =
      step.add("Concat", {step.vector(std::vector<std::int64_t>{0}), vector}, {{"axis", std::int64_t{0}}}, "terms");
  return with_axes(step, "ReduceSum", all, {0}, "sum");
}

ValueId product_of(Step& step, ValueId vector) {
  const ValueId all =
      step.add("Concat", {step.vector(std::vector<std::int64_t>{1}), vector}, {{"axis", std::int64_t{0}}}, "factors");
  if (step.opset_after() < 18)
    return step.add("ReduceProd", {all}, {{"axes", std::vector<std::int64_t>{0}}}, "product");
  return step.add("ReduceProd", {all, step.vector(std::vector<std::int64_t>{0}, "axes")}, {}, "product");
}

ValueId sizes_of(Step& step, ValueId x, std::int64_t begin, std::int64_t end) {
  return slice(step, step.add("Shape", {x}, {}, "shape"), {begin}, {end}, {0}, "sizes");
}

ValueId size_of(Step& step, ValueId x, std::int64_t axis) {
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

ValueId reshape_to(Step& step, ValueId x, ValueId shape, std::string_view hint) {
  return step.add("Reshape", {with_zero_sizes(step, x, shape), shape}, {}, hint);
}

ValueId count_up(Step& step, ValueId count) {
  ir::Tensor one;
  const std::int64_t value = 1;
  one.dims = {1};
  one.data_type = static_cast<std::int32_t>(ElementType::int64);
  one.raw_data = step.keep({reinterpret_cast<const char*>(&value), sizeof(value)});
  const ValueId ones = step.value("ones");
  step.emit("ConstantOfShape", {count}, {ones}).attributes.push_back(step.attribute("value", std::move(one)));
  return squeeze(step, step.add("NonZero", {ones}, {}, "positions"), {0}, "counted");
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
  // Comparing in double keeps the sign and is there in every version.
  const bool is_int64 = step.elem(given) == ElementType::int64;
  const ValueId index = is_int64 ? given : cast(step, given, ElementType::int64, "indices");
  const ValueId below_zero = arithmetic(step, "Less", cast(step, index, ElementType::float64, "real"),
                                        step.number(ElementType::float64, 0, "zero"), "is_negative");
  const ValueId size = squeeze(step, size_of(step, step.input(data), axis), {0}, "size");
  const ValueId added =
      arithmetic(step, "Mul", cast(step, below_zero, ElementType::int64, "is_negative"), size, "added");
  step.set_input(indices, step.add("Add", {index, added}, {}, "indices"));
  step.note("indices counted from the front at run time");
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
  step.note("the rank is not known: axes reversed before and after");
}

}  // namespace onnxkit::opset
