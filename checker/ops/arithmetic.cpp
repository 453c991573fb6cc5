// Operators that work element by element on two or more inputs: arithmetic, comparison, logic, bits.
// Until version 6 shapes are equal, or `broadcast` lets B cover a run of A's axes that starts at `axis`; from 7 (variadic ones: 8) on shapes
// are broadcast as in numpy.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/scalar_math.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

std::vector<std::size_t> all_inputs(const InferContext& context) {
  std::vector<std::size_t> inputs(context.input_count());
  std::iota(inputs.begin(), inputs.end(), std::size_t{0});
  return inputs;
}

/// Compares all sizes, so that each is demanded.
bool shapes_clash(InferContext& context, const Shape& a, const Shape& b) {
  bool clash = a.size() != b.size();
  for (std::size_t axis = 0; a.size() == b.size() && axis < a.size(); ++axis)
    clash = context.sizes_clash(a[axis], b[axis]) || clash;
  return clash;
}

void report_old_mismatch(InferContext& context, std::size_t input, const std::string& expected) {
  context.error({.code = "broadcast-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{}-{} requires other shapes", context.schema().name, context.since()),
                 .expected = expected,
                 .found = context.text(*context.input_shape(input))});
}

/// Opset 1 to 6: the output has A's shape.
void infer_old_binary(InferContext& context) {
  context.copy_shape(0, 0);
  const Shape* a = context.input_shape(0);
  const Shape* b = context.input_shape(1);
  if (!a || !b) return;
  if (context.integer("broadcast") == 0) {
    if (shapes_clash(context, *a, *b))
      report_old_mismatch(context, 1, fmt::format("{}, because broadcast is not set", context.text(*a)));
    return;
  }
  if (b->size() > a->size())
    return report_old_mismatch(context, 1, fmt::format("consecutive axes of {}", context.text(*a)));
  const auto free_axes = static_cast<std::int64_t>(a->size() - b->size());
  std::int64_t start = free_axes;
  if (context.has_attribute("axis")) {
    start = context.integer("axis");
    if (start < 0) start += static_cast<std::int64_t>(a->size());
    if (start < 0 || start > free_axes) {
      resolve_axis(context, context.integer("axis"), static_cast<std::size_t>(free_axes) + 1, at_attribute("axis"));
      return;
    }
  }
  for (std::size_t i = 0; i < b->size(); ++i) {
    const Dim covered = (*a)[static_cast<std::size_t>(start) + i];
    context.demand(SizeRelation::stretched, (*b)[i], covered);
    if (context.dims().never_equal((*b)[i], covered) && context.dims().never_equal((*b)[i], 1)) {
      return report_old_mismatch(context, 1, fmt::format("the sizes of {} from axis {} on", context.text(*a), start));
    }
  }
}

/// Opset 1 to 7 of the variadic operators: all shapes are equal.
void infer_old_variadic(InferContext& context) {
  context.copy_shape(0, 0);
  const Shape* first = context.input_shape(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const Shape* shape = context.input_shape(i);
    if (!first || !shape) continue;
    if (shapes_clash(context, *first, *shape))
      report_old_mismatch(context, i, fmt::format("{}, the shape of input 0", context.text(*first)));
  }
}

void infer_broadcast(InferContext& context) {
  const auto inputs = all_inputs(context);
  if (auto shape = broadcast(context, inputs)) context.set_shape(0, std::move(*shape));
}

/// Position in a broadcast operand of the element at `index` of the result.
std::size_t operand_offset(const Constant& operand, std::span<const std::int64_t> shape, std::size_t index) {
  std::size_t offset = 0;
  std::size_t stride = 1;
  for (std::size_t back = 0; back < shape.size(); ++back) {
    const auto size = static_cast<std::size_t>(shape[shape.size() - 1 - back]);
    const std::size_t at = index % size;
    index /= size;
    if (back >= operand.shape.size()) continue;
    const auto own = static_cast<std::size_t>(operand.shape[operand.shape.size() - 1 - back]);
    if (own > 1) offset += at * stride;
    stride *= own;
  }
  return offset;
}

/// Contents of the result when the contents of all inputs are followed and its shape is constant.
template <ScalarBinary fold>
void fold_all(InferContext& context) {
  const Type& type = context.output_type(0);
  if (!type.shape || context.input_count() == 0) return;
  Constant result{.type = type.elem, .shape = {}, .elements = {}};
  std::size_t count = 1;
  for (const Dim d : *type.shape) {
    if (!d.is_constant()) return;
    result.shape.push_back(d.constant());
    const auto size = static_cast<std::size_t>(d.constant());
    if (size > Constant::max_elements) return;
    count *= size;
    if (count > Constant::max_elements) return;
  }
  std::vector<const Constant*> operands;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    operands.push_back(context.input_value(i));
    if (!operands.back()) return;
  }
  for (std::size_t index = 0; index < count; ++index) {
    Scalar total = operands[0]->elements[operand_offset(*operands[0], result.shape, index)];
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const Scalar& next = operands[i]->elements[operand_offset(*operands[i], result.shape, index)];
      total = fold(context.dims(), total, next, operands[0]->type);
    }
    result.elements.push_back(total);
  }
  context.set_value(0, std::move(result));
}

template <ScalarBinary fold>
void infer_folded(InferContext& context) {
  infer_broadcast(context);
  fold_all<fold>(context);
}

void infer_mod(InferContext& context) {
  infer_broadcast(context);
  const ElementType elem = context.input_elem(0);
  const bool fmod = context.integer("fmod") != 0;
  require_in_range(context, "fmod", context.integer("fmod"), 0, 1);
  if (is_floating(elem) && !fmod && context.since() < 28) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("fmod"),
                   .message = "Mod of floating-point numbers requires fmod = 1",
                   .expected = "1",
                   .found = "0"});
  }
  if (!fmod) fold_all<scalar_mod>(context);
}

/// The slope is broadcast to X, never the other way round.
void infer_prelu(InferContext& context) {
  context.copy_shape(0, 0);
  const Shape* x = context.input_shape(0);
  const Shape* slope = context.input_shape(1);
  if (!x || !slope || context.since() < 7) return;
  bool fits = slope->size() <= x->size();
  for (std::size_t back = 1; fits && back <= slope->size(); ++back) {
    const Dim own = (*slope)[slope->size() - back];
    const Dim covered = (*x)[x->size() - back];
    context.demand(SizeRelation::stretched, own, covered);
    fits = own.is(1) || !context.dims().never_equal(own, covered);
  }
  if (fits) return;
  context.error({.code = "broadcast-mismatch",
                 .at = at_input(1),
                 .message = "the slope cannot be broadcast to the input",
                 .expected = fmt::format("a shape that can be broadcast to {}", context.text(*x)),
                 .found = context.text(*slope)});
}

/// Bounds are attributes until version 6, scalars from 11 on.
void infer_clip(InferContext& context) {
  context.copy_shape(0, 0);
  for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    const auto rank = context.input_rank(bound);
    if (context.has_input(bound) && rank.value_or(0) > 0) {
      context.error({.code = "rank-mismatch",
                     .at = at_input(bound),
                     .message = "the bounds of Clip must be scalars",
                     .expected = "a scalar",
                     .found = context.text(*context.input_shape(bound))});
    }
  }
}

void add_binary(InferRegistry& registry, const char* op, InferFunction function, const InferTraits& traits = {}) {
  registry.add(op, versions(1, 6), infer_old_binary, traits);
  registry.add(op, since(7), function, traits);
}

constexpr InferTraits comparison{.inputs = {{0, Role::compared, 1}, {1, Role::compared, 0}}};

void add_variadic(InferRegistry& registry, const char* op, InferFunction function) {
  registry.add(op, versions(1, 7), infer_old_variadic);
  registry.add(op, since(8), function);
}

}  // namespace

void register_arithmetic(InferRegistry& registry) {
  add_binary(registry, "Add", infer_folded<scalar_add>, {.inputs = {{0, Role::shifted, 1}, {1, Role::shifted, 0}}});
  add_binary(registry, "Sub", infer_folded<scalar_sub>, comparison);
  add_binary(registry, "Mul", infer_folded<scalar_mul>);
  add_binary(registry, "Div", infer_folded<scalar_div>);
  add_binary(registry, "Pow", infer_folded<scalar_pow>);
  add_binary(registry, "And", infer_folded<scalar_and>);
  add_binary(registry, "Or", infer_folded<scalar_or>);
  add_binary(registry, "Xor", infer_folded<scalar_xor>);
  add_binary(registry, "Equal", infer_folded<scalar_equal>, comparison);
  add_binary(registry, "Less", infer_folded<scalar_less>, comparison);
  add_binary(registry, "Greater", infer_folded<scalar_greater>, comparison);
  registry.add("LessOrEqual", all_versions(), infer_folded<scalar_less_or_equal>, comparison);
  registry.add("GreaterOrEqual", all_versions(), infer_folded<scalar_greater_or_equal>, comparison);
  registry.add("Mod", all_versions(), infer_mod);
  for (const char* op : {"BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    registry.add(op, all_versions(), infer_broadcast);
  add_variadic(registry, "Sum", infer_folded<scalar_add>);
  add_variadic(registry, "Min", infer_folded<scalar_min>);
  add_variadic(registry, "Max", infer_folded<scalar_max>);
  add_variadic(registry, "Mean", infer_broadcast);
  registry.add("PRelu", all_versions(), infer_prelu);
  registry.add("Clip", all_versions(), infer_clip);
}

}  // namespace onnxkit::checker
