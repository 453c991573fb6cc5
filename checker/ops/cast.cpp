// Cast, CastLike, BitCast: other element type, same shape. In version 1 of Cast the target is a name, later a number.
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/value_moves.h"
#include "checker/infer/type_rules.h"

namespace onnxkit::checker {
namespace {

struct IntegerRange {
  std::int64_t low, high;
};

std::optional<IntegerRange> integer_range(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return IntegerRange{-128, 127};
    case ElementType::uint8:
      return IntegerRange{0, 255};
    case ElementType::int16:
      return IntegerRange{-32768, 32767};
    case ElementType::uint16:
      return IntegerRange{0, 65535};
    case ElementType::int32:
      return IntegerRange{INT32_MIN, INT32_MAX};
    case ElementType::uint32:
      return IntegerRange{0, UINT32_MAX};
    case ElementType::int64:
      return IntegerRange{INT64_MIN, INT64_MAX};
    case ElementType::uint64:
      return IntegerRange{0, INT64_MAX};
    default:
      return std::nullopt;
  }
}

/// Integers that a floating-point type holds without rounding, up to this magnitude.
std::optional<std::int64_t> exact_integers(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return std::int64_t{1} << 11;
    case ElementType::bfloat16:
      return std::int64_t{1} << 8;
    case ElementType::float32:
      return std::int64_t{1} << 24;
    case ElementType::float64:
      return std::int64_t{1} << 53;
    default:
      return std::nullopt;
  }
}

/// Towards zero, as casts do.
Dim truncated(DimPool& dims, const Scalar& element) {
  if (element.is_integer()) return element.dim();
  if (element.is_ratio()) {
    return dims.always_at_least(element.numerator(), 0) ? dims.floor_div(element.numerator(), element.denominator())
                                                        : Dim();
  }
  const auto real = element.constant_real();
  constexpr double limit = 9223372036854774784.0;  // the largest double below 2^63
  return real && std::abs(*real) <= limit ? Dim(static_cast<std::int64_t>(*real)) : Dim();
}

Scalar to_boolean(DimPool& dims, const Scalar& element) {
  if (const auto real = element.constant_real()) return Scalar::integer(*real != 0 ? 1 : 0);
  if (element.is_unknown()) return {};
  return dims.never_equal(element.numerator(), 0) ? Scalar::integer(1) : Scalar();
}

Scalar to_integer(DimPool& dims, const Scalar& element, const IntegerRange& range) {
  const Dim value = truncated(dims, element);
  if (value.is_unknown()) return {};
  if (value.is_constant()) {
    return value.constant() >= range.low && value.constant() <= range.high ? Scalar::integer(value) : Scalar();
  }
  // Sizes stay below 2^31, but not below 2^15.
  const bool fits = range.high >= INT32_MAX && (range.low < 0 || dims.always_at_least(value, 0));
  return fits ? Scalar::integer(value) : Scalar();
}

Scalar to_real(const Scalar& element, ElementType type) {
  const auto exact = exact_integers(type);
  if (!exact || element.is_unknown()) return {};
  if (const auto real = element.constant_real()) {
    if (std::abs(*real) <= static_cast<double>(*exact) && *real == std::trunc(*real)) {
      return Scalar::integer(static_cast<std::int64_t>(*real));
    }
    if (type == ElementType::float64) return Scalar::real(*real);
    return type == ElementType::float32 ? Scalar::real(static_cast<float>(*real)) : Scalar();
  }
  // Symbolic sizes are taken to be small enough for float32 to hold them.
  return type == ElementType::float32 || type == ElementType::float64 ? element : Scalar();
}

Scalar cast(DimPool& dims, const Scalar& element, ElementType to) {
  if (to == ElementType::boolean) return to_boolean(dims, element);
  if (const auto range = integer_range(to)) return to_integer(dims, element, *range);
  return to_real(element, to);
}

void cast_elements(InferContext& context, ElementType to) {
  const Constant* value = movable_value(context, 0);
  if (!value || to == ElementType::undefined) return;
  Constant result{.type = to, .shape = value->shape, .elements = {}};
  for (const Scalar& element : value->elements) result.elements.push_back(cast(context.dims(), element, to));
  context.set_value(0, std::move(result));
}

/// "FLOAT", "INT64" ...: the names that the protobuf schema gives the element types.
std::string upper_case_name(ElementType type) {
  std::string name(name_of(type));
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

/// The type that `to` names, if the operator can give it.
std::optional<ElementType> target_type(InferContext& context) {
  std::optional<ElementType> type;
  std::string found;
  if (context.since() == 1) {
    found = context.string("to");
    for (int number = 1; number < element_type_count; ++number) {
      if (upper_case_name(static_cast<ElementType>(number)) == found) type = static_cast<ElementType>(number);
    }
  } else {
    const auto number = context.find_integer("to");
    if (!number) return std::nullopt;
    found = std::to_string(*number);
    if (*number > 0 && *number < element_type_count) type = static_cast<ElementType>(*number);
  }
  const spec::OpSchema& schema = context.schema();
  const spec::TypeSet& allowed = schema.constraints[schema.output_at(0)->constraint].allowed;
  if (type && allows(allowed, Type::tensor(*type))) return type;
  context.error({.code = "attribute-value",
                 .at = at_attribute("to"),
                 .message = fmt::format("{} cannot produce this element type", schema.name),
                 .expected = describe(allowed),
                 .found = type ? fmt::format("{} ({})", found, name_of(*type)) : quote(found),
                 .help = type ? context.help_to_give(*type) : std::string()});
  return std::nullopt;
}

void infer_cast(InferContext& context) {
  if (const auto to = target_type(context)) {
    context.set_elem(0, *to);
    cast_elements(context, *to);
  }
  context.copy_shape(0, 0);
}

void infer_cast_like(InferContext& context) {
  context.copy_shape(0, 0);
  cast_elements(context, context.input_elem(1));
}

void infer_bit_cast(InferContext& context) {
  context.copy_shape(0, 0);
  const auto to = target_type(context);
  if (!to) return;
  context.set_elem(0, *to);
  const ElementType from = context.input_elem(0);
  if (from == ElementType::undefined || storage_bits(from) == storage_bits(*to)) return;
  context.error({.code = "attribute-value",
                 .at = at_attribute("to"),
                 .message = "the two types differ in size",
                 .expected = fmt::format("a type of {} bits like {}", storage_bits(from), name_of(from)),
                 .found = fmt::format("{}, {} bits", name_of(*to), storage_bits(*to))});
}

}  // namespace

void register_cast(InferRegistry& registry) {
  registry.add("Cast", all_versions(), infer_cast, {.inputs = {{0, Role::moved}}, .type_attributes = {"to"}});
  registry.add("CastLike", all_versions(), infer_cast_like, {.inputs = {{0, Role::moved}}});
  registry.add("BitCast", all_versions(), infer_bit_cast, {.type_attributes = {"to"}});
}

}  // namespace onnxkit::checker
