#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "converters/formats/torchscript/item.h"

namespace onnxkit::torchscript {

/// What an operator over numbers, texts and lists gives ("add", "floordiv", "__not__", "len" ...) when all it needs is known; nothing otherwise.
std::optional<Item> known_result(std::string_view op, std::span<const Item> operands);

/// The operator of .pt2 that computes the same of numbers that only the graph knows; empty when there is none.
std::string_view number_operator(std::string_view op);

}  // namespace onnxkit::torchscript
