#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "converters/formats/torchscript/item.h"

namespace onnxkit::torchscript {

bool is_sequence(const Item& item);

/// What an operator over lists, tuples and dictionaries gives ("len", "slice", "__getitem__", "keys" ...) when all it needs is known; nothing otherwise.
std::optional<Item> list_result(std::string_view op, std::span<const Item> operands);

/// `list[i] = value` and `dictionary[key] = value`; false where there is no such place.
bool set_item(const Item& container, const Item& key, const Item& value);

}  // namespace onnxkit::torchscript
