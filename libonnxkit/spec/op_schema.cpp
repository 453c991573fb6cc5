#include "libonnxkit/spec/op_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace onnxkit::spec {
namespace {

using Mask = std::uint32_t;

constexpr Mask bit(ElementType element) {
  const auto number = static_cast<std::int32_t>(element);
  return is_known_element_type(number) ? Mask{1} << number : 0;
}

Mask map_bit(ElementType key, ElementType value) {
  for (std::size_t i = 0; i < std::size(map_types); ++i)
    if (map_types[i].key == key && map_types[i].value == value) return Mask{1} << i;
  return 0;
}

/// A member of TypeSet that holds element types, and what stands around the element's name: as ONNX spells it, and in messages.
struct Spelling {
  Mask TypeSet::*member;
  std::string_view before, after;
  std::string_view brief_before, brief_after;
};

constexpr std::array<Spelling, 5> spellings = {{
    {&TypeSet::tensor, "tensor(", ")", "", ""},
    {&TypeSet::sequence, "seq(tensor(", "))", "seq(", ")"},
    {&TypeSet::optional, "optional(tensor(", "))", "optional(", ")"},
    {&TypeSet::optional_sequence, "optional(seq(tensor(", ")))", "optional(seq(", "))"},
    {&TypeSet::sparse, "sparse_tensor(", ")", "sparse(", ")"},
}};

std::vector<ElementType> elements_of(Mask mask) {
  std::vector<ElementType> elements;
  for (int number = 1; number < element_type_count; ++number)
    if (mask & bit(static_cast<ElementType>(number))) elements.push_back(static_cast<ElementType>(number));
  return elements;
}

std::vector<MapType> maps_of(Mask mask) {
  std::vector<MapType> maps;
  for (std::size_t i = 0; i < std::size(map_types); ++i)
    if (mask & Mask{1} << i) maps.push_back(map_types[i]);
  return maps;
}

template <class Combine>
TypeSet combined(const TypeSet& a, const TypeSet& b, Combine combine) {
  TypeSet result;
  for (auto member : {&TypeSet::tensor, &TypeSet::sequence, &TypeSet::optional, &TypeSet::optional_sequence,
                      &TypeSet::sparse, &TypeSet::map, &TypeSet::sequence_map})
    result.*member = combine(a.*member, b.*member);
  return result;
}

std::string without_blanks(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return c != ' '; });
  return result;
}

/// What stands between `before` and `after`, if `text` is made of these.
std::optional<std::string_view> inside(std::string_view text, std::string_view before, std::string_view after) {
  if (text.size() < before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after)) return {};
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

/// The bit of "map(int64,tensor(float))" or "map(int64,float)"; 0 when it is neither.
Mask map_bit_named(std::string_view text) {
  const auto pair = inside(text, "map(", ")");
  const auto comma = pair ? pair->find(',') : std::string_view::npos;
  if (comma == std::string_view::npos) return 0;
  const auto value = pair->substr(comma + 1);
  const auto key_type = element_type_named(pair->substr(0, comma));
  const auto value_type = element_type_named(inside(value, "tensor(", ")").value_or(value));
  return key_type && value_type ? map_bit(*key_type, *value_type) : 0;
}

constexpr std::array<std::string_view, 15> attribute_type_names = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

std::string float_text(float value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string string_text(std::string_view value) { return fmt::format("\"{}\"", value); }

template <class List, class Text>
std::string list_text(const List& list, Text text) {
  std::string result = "[";
  for (const auto& item : list) {
    if (result.size() > 1) result += ", ";
    result += text(item);
  }
  return result + "]";
}

const FormalParameter* parameter_at(std::span<const FormalParameter> parameters, std::size_t index) {
  if (index < parameters.size()) return &parameters[index];
  if (!parameters.empty() && parameters.back().arity == Arity::variadic) return &parameters.back();
  return nullptr;
}

}  // namespace

bool contains(const TypeSet& set, TypeForm form, ElementType element) {
  return (set.*spellings[static_cast<std::size_t>(form)].member & bit(element)) != 0;
}

bool contains_map(const TypeSet& set, ElementType key, ElementType value) {
  return (set.map & map_bit(key, value)) != 0;
}

bool contains_sequence_of_map(const TypeSet& set, ElementType key, ElementType value) {
  return (set.sequence_map & map_bit(key, value)) != 0;
}

TypeSet united(const TypeSet& a, const TypeSet& b) {
  return combined(a, b, [](Mask x, Mask y) { return x | y; });
}

TypeSet without(const TypeSet& a, const TypeSet& b) {
  return combined(a, b, [](Mask x, Mask y) { return x & ~y; });
}

std::vector<std::string> type_strings(const TypeSet& set) {
  std::vector<std::string> result;
  for (const Spelling& spelling : spellings)
    for (const ElementType element : elements_of(set.*spelling.member))
      result.push_back(fmt::format("{}{}{}", spelling.before, name_of(element), spelling.after));
  for (const auto& [key, value] : maps_of(set.map))
    result.push_back(fmt::format("map({},tensor({}))", name_of(key), name_of(value)));
  for (const auto& [key, value] : maps_of(set.sequence_map))
    result.push_back(fmt::format("seq(map({},tensor({})))", name_of(key), name_of(value)));
  return result;
}

std::string describe(const TypeSet& set, std::size_t limit) {
  std::vector<std::string> types;
  for (const Spelling& spelling : spellings)
    for (const ElementType element : elements_of(set.*spelling.member))
      types.push_back(fmt::format("{}{}{}", spelling.brief_before, name_of(element), spelling.brief_after));
  for (const auto& [key, value] : maps_of(set.map))
    types.push_back(fmt::format("map({}, {})", name_of(key), name_of(value)));
  for (const auto& [key, value] : maps_of(set.sequence_map))
    types.push_back(fmt::format("seq(map({}, {}))", name_of(key), name_of(value)));
  if (types.empty()) return "no type";
  const std::size_t shown = std::min(types.size(), limit);
  std::string text =
      fmt::format("{}", fmt::join(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < types.size()) text += fmt::format(" and {} more", types.size() - shown);
  return text;
}

std::string describe_by_form(const TypeSet& set) {
  std::vector<std::string> forms;
  for (const Spelling& spelling : spellings) {
    std::vector<std::string_view> names;
    for (const ElementType element : elements_of(set.*spelling.member)) names.push_back(name_of(element));
    if (!names.empty()) forms.push_back(fmt::format("{}{}{}", spelling.before, fmt::join(names, ", "), spelling.after));
  }
  for (std::string& map : type_strings({.map = set.map, .sequence_map = set.sequence_map}))
    forms.push_back(std::move(map));
  return fmt::format("{}", fmt::join(forms, ", "));
}

std::optional<TypeSet> type_named(std::string_view text) {
  const std::string plain = without_blanks(text);
  TypeSet set;
  for (const Spelling& spelling : spellings)
    if (const auto name = inside(plain, spelling.before, spelling.after))
      if (const auto element = element_type_named(*name)) {
        set.*spelling.member = bit(*element);
        return set;
      }
  set.map = map_bit_named(plain);
  if (const auto item = inside(plain, "seq(", ")")) set.sequence_map = map_bit_named(*item);
  return set.empty() ? std::nullopt : std::optional(set);
}

std::string_view name_of(AttributeType type) {
  const auto number = static_cast<std::size_t>(type);
  return attribute_type_names[number < attribute_type_names.size() ? number : 0];
}

std::optional<AttributeType> attribute_type_named(std::string_view name) {
  const auto found = std::find(attribute_type_names.begin() + 1, attribute_type_names.end(), name);
  if (found == attribute_type_names.end()) return {};
  return static_cast<AttributeType>(found - attribute_type_names.begin());
}

bool operator==(const AttributeSchema& a, const AttributeSchema& b) {
  const auto& x = a.default_value;
  const auto& y = b.default_value;
  return a.name == b.name && a.type == b.type && a.required == b.required && a.has_default == b.has_default &&
         x.integer == y.integer && x.real == y.real && x.string == y.string &&
         std::ranges::equal(x.integers, y.integers) && std::ranges::equal(x.reals, y.reals) &&
         std::ranges::equal(x.strings, y.strings) && std::ranges::equal(a.allowed_strings, b.allowed_strings);
}

std::string default_text(const AttributeSchema& attribute) {
  const auto& value = attribute.default_value;
  if (!attribute.has_default) return "";
  switch (attribute.type) {
    case AttributeType::real:
      return float_text(value.real);
    case AttributeType::integer:
      return std::to_string(value.integer);
    case AttributeType::string:
      return string_text(value.string);
    case AttributeType::reals:
      return list_text(value.reals, float_text);
    case AttributeType::integers:
      return list_text(value.integers, [](std::int64_t n) { return std::to_string(n); });
    case AttributeType::strings:
      return list_text(value.strings, string_text);
    default:
      return fmt::format("a {}", name_of(attribute.type));
  }
}

const AttributeSchema* OpSchema::find_attribute(std::string_view attribute) const {
  const auto found = std::ranges::lower_bound(attributes, attribute, {}, &AttributeSchema::name);
  return found != attributes.end() && found->name == attribute ? &*found : nullptr;
}

const FormalParameter* OpSchema::input_at(std::size_t index) const { return parameter_at(inputs, index); }
const FormalParameter* OpSchema::output_at(std::size_t index) const { return parameter_at(outputs, index); }

}  // namespace onnxkit::spec
