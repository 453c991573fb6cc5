#include "tests/op_cases/type_text.h"

#include <charconv>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

namespace onnxkit::op_cases {
namespace {

using Kind = ir::DeclaredType::Kind;

[[noreturn]] void bad_type(std::string message) { throw YAML::Exception(YAML::Mark::null_mark(), message); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas that are in no parentheses: "N, min(A, B)" has two parts.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!trim(text).empty()) parts.push_back(trim(text.substr(start)));
  return parts;
}

/// What stands inside "name( ... )".
std::optional<std::string_view> inside(std::string_view text, std::string_view name) {
  const bool fits =
      text.size() > name.size() + 1 && text.starts_with(name) && text[name.size()] == '(' && text.back() == ')';
  if (!fits) return std::nullopt;
  return trim(text.substr(name.size() + 1, text.size() - name.size() - 2));
}

ir::DeclaredType wrap(Kind kind, ir::DeclaredType element) {
  ir::DeclaredType type;
  type.kind = kind;
  type.element = std::make_unique<ir::DeclaredType>(std::move(element));
  return type;
}

ir::DeclaredType parse_tensor(std::string_view text, StringPool& strings) {
  ir::DeclaredType type;
  type.kind = Kind::tensor;
  const std::size_t bracket = text.find('[');
  type.elem_type = static_cast<std::int32_t>(parse_element_type(trim(text.substr(0, bracket))));
  if (bracket == std::string_view::npos) return type;
  if (text.back() != ']') bad_type(fmt::format("\"{}\" lacks its ]", text));
  type.shape.emplace();
  for (const std::string_view dim : split_list(text.substr(bracket + 1, text.size() - bracket - 2))) {
    type.shape->dims.push_back(parse_dim(dim, strings));
  }
  return type;
}

}  // namespace

ElementType parse_element_type(std::string_view text) {
  struct Short {
    std::string_view name;
    ElementType type;
  };
  static constexpr Short shorts[] = {
      {"f16", ElementType::float16},    {"f32", ElementType::float32}, {"f64", ElementType::float64},
      {"bf16", ElementType::bfloat16},  {"i2", ElementType::int2},     {"i4", ElementType::int4},
      {"i8", ElementType::int8},        {"i16", ElementType::int16},   {"i32", ElementType::int32},
      {"i64", ElementType::int64},      {"u2", ElementType::uint2},    {"u4", ElementType::uint4},
      {"u8", ElementType::uint8},       {"u16", ElementType::uint16},  {"u32", ElementType::uint32},
      {"u64", ElementType::uint64},     {"str", ElementType::string},  {"c64", ElementType::complex64},
      {"c128", ElementType::complex128}};
  for (const Short& entry : shorts) {
    if (entry.name == text) return entry.type;
  }
  if (const auto type = element_type_named(text)) return *type;
  bad_type(fmt::format("\"{}\" is no element type", text));
}

ir::DeclaredDim parse_dim(std::string_view text, StringPool& strings) {
  ir::DeclaredDim dim;
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc() && end == text.data() + text.size()) {
    dim.value = number;
  } else if (text != "?" && text != "_") {
    dim.param = strings.keep(text);
  }
  return dim;
}

ir::DeclaredType parse_type(std::string_view text, StringPool& strings) {
  text = trim(text);
  if (const auto element = inside(text, "seq")) return wrap(Kind::sequence, parse_type(*element, strings));
  if (const auto element = inside(text, "optional")) return wrap(Kind::optional, parse_type(*element, strings));
  if (const auto element = inside(text, "tensor")) return parse_tensor(*element, strings);
  if (const auto element = inside(text, "sparse")) {
    ir::DeclaredType type = parse_tensor(*element, strings);
    type.kind = Kind::sparse_tensor;
    return type;
  }
  if (const auto pair = inside(text, "map")) {
    const auto parts = split_list(*pair);
    if (parts.size() != 2) bad_type(fmt::format("\"{}\" needs a key and a value", text));
    ir::DeclaredType type = wrap(Kind::map, parse_type(parts[1], strings));
    type.key_type = static_cast<std::int32_t>(parse_element_type(parts[0]));
    return type;
  }
  return parse_tensor(text, strings);
}

}  // namespace onnxkit::op_cases
