#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "converters/formats/torchscript/item.h"

namespace onnxkit::torchscript {

bool is_sequence(const Item& item);

/// What an operator over lists, tuples and dictionaries gives ("len", "slice", "__getitem__", "keys" ...) when all it needs is known; nothing otherwise.
std::optional<Item> list_result(std::string_view op, std::span<const Item> operands);

/// Whether an operator changes a list in place: "reverse", "insert" ...
constexpr bool changes_list(std::string_view op) {
  return op == "reverse" || op == "clear" || op == "pop" || op == "insert" || op == "sort";
}
/// Does so, and gives the list, or the item that is taken out of it; nothing where the place is not known.
std::optional<Item> changed_list(std::string_view op, std::span<const Item> operands);

/// `list[i] = value` and `dictionary[key] = value`; false where there is no such place.
bool set_item(const Item& container, const Item& key, const Item& value);

}  // namespace onnxkit::torchscript
