#pragma once

#include <optional>
#include <string_view>

#include "converters/containers/json_writer.h"
#include "converters/formats/torchscript/item.h"
#include "converters/formats/torchscript/syntax.h"

namespace onnxkit::torchscript {

/// A value that a caller wrote as text, "16000", "0.5", "true", "3,4", "None", as one of this type; nothing when it is none.
std::optional<Item> value_of_type(const Expression& type, std::string_view text);
/// The same as a value of the kind that an attribute has now.
std::optional<Item> value_like(const Item& stored, std::string_view text);

/// {"=": value}, which is never a container of tensors.
void write_value(containers::JsonWriter& json, const Item& value);

}  // namespace onnxkit::torchscript
