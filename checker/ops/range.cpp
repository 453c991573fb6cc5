// Range: ceil((limit - start) / delta) numbers, none when that is negative.
#include <cmath>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/scalar_math.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

Scalar single(InferContext& context, std::size_t input) {
  const Constant* value = context.input_value(input);
  return value && value->elements.size() == 1 ? value->elements.front() : Scalar();
}

bool is_integer_type(ElementType type) {
  return type == ElementType::int16 || type == ElementType::int32 || type == ElementType::int64;
}

void set_integers(InferContext& context, ElementType type, Dim start, Dim count, std::int64_t step) {
  if (!count.is_constant() || count.constant() > static_cast<std::int64_t>(Constant::max_elements)) return;
  Constant value{.type = type, .shape = {count.constant()}, .elements = {}};
  for (std::int64_t i = 0; i < count.constant(); ++i) {
    value.elements.push_back(Scalar::integer(context.dims().add(start, context.dims().mul(i, step))));
  }
  context.set_value(0, std::move(value));
}

void infer_integers(InferContext& context, ElementType type, Dim start, Dim limit, Dim step) {
  DimPool& dims = context.dims();
  if (!step.is_constant() || step.constant() == INT64_MIN) return;
  const bool up = step.constant() > 0;
  const Dim distance = up ? dims.sub(limit, start) : dims.sub(start, limit);
  const Dim count = dims.max(dims.ceil_div(distance, up ? step.constant() : -step.constant()), 0);
  if (count.is_unknown()) return;
  context.set_shape(0, {count});
  set_integers(context, type, start, count, step.constant());
}

void infer_reals(InferContext& context, ElementType type, double start, double limit, double step) {
  // The difference is rounded to the type of the inputs before the division.
  const double distance =
      type == ElementType::float32 ? static_cast<float>(limit) - static_cast<float>(start) : limit - start;
  const double count = std::max(std::ceil(distance / step), 0.0);
  constexpr double max_count = 9007199254740992.0;
  if (!(count <= max_count)) return;
  const bool exact_type = type == ElementType::float32 || type == ElementType::float64;
  if (!exact_type && count > 0 && std::nearbyint(distance / step) != distance / step) return;
  context.set_shape(0, {static_cast<std::int64_t>(count)});
  if (!exact_type || count > static_cast<double>(Constant::max_elements)) return;
  Constant value{.type = type, .shape = {static_cast<std::int64_t>(count)}, .elements = {}};
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const double element = start + i * step;
    value.elements.push_back(Scalar::real(type == ElementType::float32 ? static_cast<float>(element) : element));
  }
  context.set_value(0, std::move(value));
}

/// Limits that are sizes, or fractions of sizes, in floating point.
void infer_symbolic_reals(InferContext& context, ElementType type, const Scalar& start, const Scalar& limit,
                          const Scalar& step) {
  DimPool& dims = context.dims();
  const auto real_step = step.constant_real();
  if (!real_step) return;
  const bool up = *real_step > 0;
  const Scalar distance = up ? scalar_sub(dims, limit, start, type) : scalar_sub(dims, start, limit, type);
  const Scalar steps = scalar_div(dims, distance, Scalar::real(std::abs(*real_step)), type);
  if (!steps.is_ratio()) return;
  const Dim count = dims.max(dims.ceil_div(steps.numerator(), steps.denominator()), 0);
  if (!count.is_unknown()) context.set_shape(0, {count});
}

void infer_range(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) is_not_single(context, i, "rank-mismatch");
  const Scalar start = single(context, 0), limit = single(context, 1), step = single(context, 2);
  if (step.constant_real() == 0.0) {
    context.error({.code = "input-value",
                   .at = at_input(2),
                   .message = "the step must not be 0",
                   .expected = "a delta other than 0",
                   .found = "0"});
    return context.set_shape(0, unknown_sizes(1));
  }
  const ElementType type = context.input_elem(0);
  const auto real_start = start.constant_real(), real_limit = limit.constant_real(), real_step = step.constant_real();
  if (is_integer_type(type)) {
    infer_integers(context, type, start.dim(), limit.dim(), step.dim());
  } else if (start.is_integer() && limit.is_integer() && step.is_integer()) {
    infer_integers(context, type, start.dim(), limit.dim(), step.dim());
  } else if (real_start && real_limit && real_step) {
    infer_reals(context, type, *real_start, *real_limit, *real_step);
  } else {
    infer_symbolic_reals(context, type, start, limit, step);
  }
  if (context.output_type(0).shape) return;
  const std::size_t open = start.is_unknown() ? 0 : (limit.is_unknown() ? 1 : 2);
  context.set_shape(0, {context.size_from_content(open, "range", "the length of Range is unknown")});
}

}  // namespace

void register_range(InferRegistry& registry) {
  registry.add("Range", all_versions(), infer_range, {.inputs = {{1, Role::size}}, .type_attributes = {"stash_type"}});
  registry.add("com.microsoft", "Range", all_versions(), infer_range, {.inputs = {{1, Role::size}}});
}

}  // namespace onnxkit::checker
