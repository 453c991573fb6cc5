#pragma once

#include <cstdint>
#include <string_view>

#include "onnxkit/element_type.h"

// Words with which a type begins. A name that equals one has to stand in quotes.
namespace onnxkit::wire::text {

/// 0 when the syntax has no such element type; aliases such as float32 are none of its words.
inline std::int32_t element_type_number(std::string_view word) {
  const auto type = element_type_named(word);
  return type && name_of(*type) == word ? static_cast<std::int32_t>(*type) : 0;
}

inline bool is_type_constructor(std::string_view word) {
  return word == "seq" || word == "map" || word == "optional" || word == "sparse_tensor" || word == "opaque";
}

inline bool is_type_word(std::string_view word) { return is_type_constructor(word) || element_type_number(word) != 0; }

}  // namespace onnxkit::wire::text
