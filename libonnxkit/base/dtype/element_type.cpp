#include "onnxkit/element_type.h"

#include <array>

namespace onnxkit {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

constexpr std::array<Row, element_type_count> rows = {{
    {"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},      {"float6e2m3", 6},   {"float6e3m2", 6},
}};

const Row& row_of(ElementType type) {
  const auto number = static_cast<std::int32_t>(type);
  return rows[is_known_element_type(number) ? static_cast<std::size_t>(number) : 0];
}

}  // namespace

std::string_view name_of(ElementType type) { return row_of(type).name; }

int storage_bits(ElementType type) { return row_of(type).bits; }

std::optional<ElementType> element_type_named(std::string_view name) {
  if (name == "float32") return ElementType::float32;
  if (name == "float64") return ElementType::float64;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

}  // namespace onnxkit
