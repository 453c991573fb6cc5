#include "libonnxkit/cuda/text/element.h"

#include <cmath>

#include <fmt/core.h>

namespace onnxkit::cuda {

std::string_view lane_type(Lane lane) {
  return lane == Lane::f32 ? "float" : lane == Lane::f64 ? "double" : "long long";
}

std::string_view stored_type(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return "float16";
    case ElementType::bfloat16:
      return "bfloat16";
    case ElementType::float8e4m3fn:
      return "float8";
    case ElementType::float32:
      return "float";
    case ElementType::float64:
      return "double";
    case ElementType::int8:
      return "signed char";
    case ElementType::int16:
      return "short";
    case ElementType::int32:
      return "int";
    case ElementType::int64:
      return "long long";
    case ElementType::uint8:
      return "unsigned char";
    case ElementType::uint16:
      return "unsigned short";
    case ElementType::uint32:
      return "unsigned";
    case ElementType::uint64:
      return "unsigned long long";
    case ElementType::boolean:
      return "bool";
    default:
      return {};
  }
}

std::string loaded(ElementType stored, Lane lane, std::string_view element) {
  if (stored_type(stored) == lane_type(lane)) return std::string(element);
  const std::string number = fmt::format("decoded({})", element);
  return plan::lane_of(stored) == lane ? number : fmt::format("converted<{}>({})", lane_type(lane), number);
}

std::string stored(ElementType stored, Lane lane, std::string_view number) {
  if (stored_type(stored) == lane_type(lane)) return std::string(number);
  const Lane natural = plan::lane_of(stored);
  const bool narrows_at_once = natural == Lane::f32 && lane == Lane::f64;  // not by way of a float
  if (natural == lane || narrows_at_once) return fmt::format("encoded<{}>({})", stored_type(stored), number);
  const std::string converted = fmt::format("converted<{}>({})", lane_type(natural), number);
  return stored_type(stored) == lane_type(natural) ? converted
                                                   : fmt::format("encoded<{}>({})", stored_type(stored), converted);
}

std::string literal(Lane lane, double real) {
  if (lane == Lane::i64) return literal(static_cast<std::int64_t>(real));
  const bool is_float = lane == Lane::f32;
  if (std::isnan(real)) return is_float ? "float_of(0x7fc00000u)" : "(double)float_of(0x7fc00000u)";
  const double number = is_float ? static_cast<float>(real) : real;
  if (std::isinf(number))
    return fmt::format("{}{}float_of(0x7f800000u)", number < 0 ? "-" : "", is_float ? "" : "(double)");
  std::string text = is_float ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_float ? text + "f" : text;
}

std::string literal(std::int64_t integer) {
  // The least number is no literal with a sign.
  if (integer == INT64_MIN) return "(-9223372036854775807LL - 1)";
  return fmt::format("{}LL", integer);
}

Lane sum_lane(ElementType type) { return plan::lane_of(type) == Lane::i64 ? Lane::i64 : Lane::f64; }

}  // namespace onnxkit::cuda
