// Reductions over axes. The axes are an attribute until version 11 (ReduceSum) or 17 (the others) and an input after that. No axes means all of
// them, unless noop_with_empty_axes says none.
#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

struct Axes {
  bool known = true;               ///< false: given by an input whose content is not known
  std::vector<std::int64_t> list;  ///< empty: none given
  Where at;
};

Axes axes_of_reduce(InferContext& context) {
  if (!context.has_input(1))
    return {.known = true,
            .list = context.integers("axes").value_or(std::vector<std::int64_t>()),
            .at = at_attribute("axes")};
  if (auto constant = context.constant_integers(1))
    return {.known = true, .list = std::move(*constant), .at = at_input(1)};
  return {.known = false, .list = {}, .at = at_input(1)};
}

/// Sizes when it is not known which axes go: with keepdims only the rank is.
void infer_unknown_axes(InferContext& context, std::size_t rank, bool keep) {
  const Shape* axes = context.input_shape(1);
  if (keep) {
    context.lose_shape_to_content(0, 1, "the axes are unknown");
    return context.set_shape(0, Shape(rank));
  }
  const bool countable = axes && axes->size() == 1 && axes->front().is_constant();
  if (countable && axes->front().constant() > 0 && axes->front().constant() <= static_cast<std::int64_t>(rank)) {
    context.lose_shape_to_content(0, 1, "the axes are unknown");
    return context.set_shape(0, Shape(rank - static_cast<std::size_t>(axes->front().constant())));
  }
  context.lose_shape_to_content(0, 1, "the axes are unknown");
}

using Fold = Dim (*)(DimPool&, Dim, Dim);

/// The content when a vector of integers is reduced to one: what exporters do with parts of a shape.
void fold_vector(InferContext& context, Fold fold, std::optional<std::int64_t> of_nothing, bool keep) {
  const Constant* value = context.input_value(0);
  if (!value || value->shape.size() != 1) return;
  if (value->elements.empty() && !of_nothing) return;
  Dim total = value->elements.empty() ? Dim(*of_nothing) : value->elements.front().dim();
  for (std::size_t i = 1; i < value->elements.size(); ++i)
    total = fold(context.dims(), total, value->elements[i].dim());
  if (total.is_unknown()) return;
  const std::vector<std::int64_t> shape(keep ? 1 : 0, 1);
  context.set_value(0, {.type = value->type, .shape = shape, .elements = {Scalar::integer(total)}});
}

void fold_known(InferContext& context, bool keep) {
  const std::string_view op = context.schema().name;
  if (op == "ReduceSum")
    fold_vector(
        context, [](DimPool& dims, Dim a, Dim b) { return dims.add(a, b); }, 0, keep);
  if (op == "ReduceProd")
    fold_vector(
        context, [](DimPool& dims, Dim a, Dim b) { return dims.mul(a, b); }, 1, keep);
  if (op == "ReduceMax")
    fold_vector(
        context, [](DimPool& dims, Dim a, Dim b) { return dims.max(a, b); }, {}, keep);
  if (op == "ReduceMin")
    fold_vector(
        context, [](DimPool& dims, Dim a, Dim b) { return dims.min(a, b); }, {}, keep);
}

void infer_reduce(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  const bool keep = context.integer("keepdims", 1) == 1;
  const Axes axes = axes_of_reduce(context);
  if (!axes.known) return infer_unknown_axes(context, shape->size(), keep);
  if (axes.list.empty() && context.integer("noop_with_empty_axes") != 0) return context.set_shape(0, *shape);
  const auto reduced = resolve_axes(context, axes.list, shape->size(), axes.at);
  if (!reduced) return;
  Shape result;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    const bool goes = reduced->empty() || std::find(reduced->begin(), reduced->end(), axis) != reduced->end();
    if (!goes) {
      result.push_back((*shape)[axis]);
    } else if (keep) {
      result.emplace_back(1);
    }
  }
  context.set_shape(0, std::move(result));
  fold_known(context, keep);
}

void infer_arg(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  const auto axis = resolve_axis(context, context.integer("axis"), shape->size(), at_attribute("axis"));
  if (!axis) return;
  Shape result = *shape;
  if (result[*axis].is(0)) {
    context.error({.code = "shape-mismatch",
                   .at = at_input(0),
                   .message = "the axis has no elements to choose from",
                   .expected = "a size of 1 or more",
                   .found = context.text(*shape)});
  }
  if (context.integer("keepdims", 1) == 1) {
    result[*axis] = 1;
  } else {
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  context.set_shape(0, std::move(result));
}

/// CumSum, CumProd: the axis is a scalar input.
void infer_cumulative(InferContext& context) {
  context.copy_shape(0, 0);
  for (const char* flag : {"exclusive", "reverse"}) require_in_range(context, flag, context.integer(flag), 0, 1);
  const Shape* axis_shape = context.input_shape(1);
  const bool is_scalar = !axis_shape || axis_shape->empty() ||
                         (axis_shape->size() == 1 && !context.dims().never_equal(axis_shape->front(), 1));
  if (!is_scalar) {
    context.error({.code = "rank-mismatch",
                   .at = at_input(1),
                   .message = "the axis must be a single number",
                   .expected = "a scalar",
                   .found = context.text(*axis_shape)});
    return;
  }
  const auto axis = context.constant_integer(1);
  const auto rank = context.input_rank(0);
  if (axis && rank) resolve_axis(context, *axis, *rank, at_input(1));
}

}  // namespace

void register_reduce(InferRegistry& registry) {
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    registry.add(op, all_versions(), infer_reduce, {.inputs = {{1, Role::axes}}});
  }
  registry.add("ArgMax", all_versions(), infer_arg);
  registry.add("ArgMin", all_versions(), infer_arg);
  registry.add("CumSum", all_versions(), infer_cumulative, {.inputs = {{1, Role::axes}}});
  registry.add("CumProd", all_versions(), infer_cumulative, {.inputs = {{1, Role::axes}}});
}

}  // namespace onnxkit::checker
