// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: the output has the input's shape. Scale and zero point have one shape:
// a scalar; from 13 on a vector along `axis`; from 21 on, with block_size, the input's shape with that axis divided into blocks.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

/// A scalar, or a vector that may have one element.
bool may_be_single(InferContext& context, const Shape& shape) {
  return shape.empty() || (shape.size() == 1 && !context.dims().never_equal(shape.front(), 1));
}

/// A vector has one axis, whatever the attribute says.
std::optional<std::size_t> quantized_axis(InferContext& context, std::size_t rank) {
  if (rank == 1) return 0;
  return resolve_axis(context, context.integer("axis", 1), rank, at_attribute("axis"));
}

void check_block_scale(InferContext& context, const Shape& x, std::int64_t block) {
  const auto axis = quantized_axis(context, x.size());
  if (!axis) return;
  Shape expected = x;
  expected[*axis] = context.dims().ceil_div(x[*axis], block);
  require_shape(context, 1, expected,
                fmt::format("there must be one scale per block of {} along axis {}", block, *axis));
}

void check_scale(InferContext& context) {
  const Shape* x = context.input_shape(0);
  const Shape* scale = context.input_shape(1);
  const std::int64_t block = context.integer("block_size");
  if (!require_in_range(context, "block_size", block, 0) || !scale) return;
  if (context.since() < 13) {
    require_single_element(context, 1, "the scale must be a scalar");
  } else if (block > 0) {
    if (x) check_block_scale(context, *x, block);
  } else if (scale->size() > 1) {
    require_shape(context, 1, {Dim()}, "the scale must be a scalar or a vector when block_size is 0");
  } else if (!may_be_single(context, *scale) && x) {
    const auto axis = quantized_axis(context, x->size());
    if (axis)
      require_shape(context, 1, {(*x)[*axis]}, fmt::format("there must be one scale per slice along axis {}", *axis));
  }
}

void check_zero_point(InferContext& context) {
  const Shape* scale = context.input_shape(1);
  const Shape* zero_point = context.input_shape(2);
  if (!scale || !zero_point || (may_be_single(context, *scale) && may_be_single(context, *zero_point))) return;
  require_shape(context, 2, *scale, "scale and zero point must have the same shape");
}

/// output_dtype as a type; nullopt when absent, 0 or no type that the output may have (reported).
std::optional<ElementType> stated_type(InferContext& context) {
  if (context.integer("output_dtype") == 0) return std::nullopt;
  context.set_elem(0, ElementType::undefined);
  set_elem_from_attribute(context, 0, "output_dtype", ElementType::undefined);
  const ElementType stated = context.output_type(0).elem;
  return stated == ElementType::undefined ? std::nullopt : std::optional(stated);
}

void infer_quantize(InferContext& context) {
  const ElementType zero_type = context.input_elem(2);
  const auto stated = stated_type(context);
  if (stated && zero_type != ElementType::undefined && *stated != zero_type) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("output_dtype"),
                   .message = "output_dtype contradicts the zero point",
                   .expected = std::string(name_of(zero_type)),
                   .found = std::string(name_of(*stated))});
  }
  if (zero_type != ElementType::undefined) {
    context.set_elem(0, zero_type);
  } else if (!context.has_input(2) && !stated) {
    context.set_elem(0, ElementType::uint8);
  }
  context.copy_shape(0, 0);
  check_scale(context);
  check_zero_point(context);
}

/// int32 values come from sums of products, which have no zero point.
void check_int32_zero_point(InferContext& context) {
  if (context.input_elem(0) != ElementType::int32) return;
  const auto zero_point = context.constant_integers(2);
  if (!zero_point) return;
  for (const std::int64_t value : *zero_point) {
    if (value == 0) continue;
    context.error({.code = "input-value",
                   .at = at_input(2),
                   .message = "int32 values must not have a zero point",
                   .expected = "0",
                   .found = std::to_string(value)});
    return;
  }
}

void infer_dequantize(InferContext& context) {
  const bool type_follows_scale = context.since() >= 23;
  if (type_follows_scale && !stated_type(context) && context.input_elem(1) != ElementType::float8e8m0) {
    context.set_elem(0, context.input_elem(1));
  }
  context.copy_shape(0, 0);
  check_scale(context);
  check_zero_point(context);
  check_int32_zero_point(context);
}

void infer_dynamic_quantize(InferContext& context) {
  context.copy_shape(0, 0);
  context.set_shape(1, {});
  context.set_shape(2, {});
}

}  // namespace

void register_quantization(InferRegistry& registry) {
  registry.add("QuantizeLinear", all_versions(), infer_quantize, {.type_attributes = {"output_dtype", "precision"}});
  registry.add("DequantizeLinear", all_versions(), infer_dequantize, {.type_attributes = {"output_dtype"}});
  registry.add("DynamicQuantizeLinear", all_versions(), infer_dynamic_quantize);
}

}  // namespace onnxkit::checker
