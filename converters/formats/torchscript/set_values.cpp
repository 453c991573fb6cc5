// Values of arguments and attributes that are no tensors, as a caller writes them.
#include "converters/formats/torchscript/set_values.h"

#include <charconv>
#include <cmath>

namespace onnxkit::torchscript {
namespace {

using Kind = Item::Kind;

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::optional<Item> of_kind(Kind kind, std::string_view text) {
  if (kind == Kind::text) return Item::of_text(std::string(text));
  if (kind == Kind::boolean) {
    const bool is_true = text == "true" || text == "True";
    return is_true || text == "false" || text == "False" ? std::optional(Item::of_boolean(is_true)) : std::nullopt;
  }
  if (kind == Kind::integer) {
    const auto number = number_in<std::int64_t>(text);
    return number ? std::optional(Item::of_integer(*number)) : std::nullopt;
  }
  const auto number = kind == Kind::real ? number_in<double>(text) : std::nullopt;
  // Infinities have no place in JSON, which tells the framework of the values.
  return number && std::isfinite(*number) ? std::optional(Item::of_real(*number)) : std::nullopt;
}

/// "3,4" as items of one type.
std::optional<Item> list_of(const Expression& type, std::string_view text) {
  Items items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    auto item = value_of_type(type, text.substr(0, end));
    if (!item) return std::nullopt;
    items.push_back(*std::move(item));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Item::of_items(Kind::list, std::move(items));
}

void write(containers::JsonWriter& json, const Item& value) {
  switch (value.kind) {
    case Kind::integer:
      return void(json.value(value.integer));
    case Kind::real:
      return void(json.value(value.real));
    case Kind::boolean:
      return void(json.value(value.integer != 0));
    case Kind::text:
      return void(json.value(value.text));
    case Kind::list:
      json.open_array();
      for (const Item& item : *value.items) write(json, item);
      return void(json.close_array());
    default:
      return void(json.null());
  }
}

}  // namespace

std::optional<Item> value_of_type(const Expression& type, std::string_view text) {
  if (type.kind == Expression::Kind::item) {
    const std::string_view outer = type.parts[0].text;
    if (outer == "Optional") return text == "None" ? std::optional(Item()) : value_of_type(type.parts[1], text);
    return outer == "List" ? list_of(type.parts[1], text) : std::nullopt;
  }
  if (type.kind != Expression::Kind::name) return std::nullopt;
  if (type.text == "int") return of_kind(Kind::integer, text);
  if (type.text == "float") return of_kind(Kind::real, text);
  if (type.text == "bool") return of_kind(Kind::boolean, text);
  if (type.text == "str") return of_kind(Kind::text, text);
  if (type.text != "number") return std::nullopt;
  auto number = of_kind(Kind::integer, text);
  return number ? number : of_kind(Kind::real, text);
}

std::optional<Item> value_like(const Item& stored, std::string_view text) {
  const bool is_simple = stored.is_number() || stored.kind == Kind::text;
  return is_simple ? of_kind(stored.kind, text) : std::nullopt;
}

void write_value(containers::JsonWriter& json, const Item& value) {
  json.open_object().key("=");
  write(json, value);
  json.close_object();
}

}  // namespace onnxkit::torchscript
