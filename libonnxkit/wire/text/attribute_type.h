#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

// AttributeProto.AttributeType in the text syntax.
namespace onnxkit::wire::text {

enum AttributeType : std::int32_t {
  attribute_undefined = 0,
  attribute_float = 1,
  attribute_int = 2,
  attribute_string = 3,
  attribute_tensor = 4,
  attribute_graph = 5,
  attribute_floats = 6,
  attribute_ints = 7,
  attribute_strings = 8,
  attribute_tensors = 9,
  attribute_graphs = 10,
  attribute_sparse_tensor = 11,
  attribute_sparse_tensors = 12,
  attribute_type_proto = 13,
  attribute_type_protos = 14,
};

inline constexpr std::string_view attribute_type_names[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

/// 0 for an unknown name.
constexpr std::int32_t attribute_type_named(std::string_view name) {
  for (std::size_t i = 1; i < std::size(attribute_type_names); ++i) {
    if (attribute_type_names[i] == name) return static_cast<std::int32_t>(i);
  }
  return attribute_undefined;
}

/// Empty for a number that is no type.
constexpr std::string_view attribute_type_name(std::int32_t type) {
  return type > 0 && type < std::ssize(attribute_type_names) ? attribute_type_names[type] : std::string_view();
}

constexpr bool is_list_type(std::int32_t type) {
  return (type >= attribute_floats && type <= attribute_graphs) || type == attribute_sparse_tensors ||
         type == attribute_type_protos;
}

/// The type of one element of a list type; other types stay as they are.
constexpr std::int32_t element_of_list(std::int32_t type) {
  if (type >= attribute_floats && type <= attribute_graphs) return type - attribute_floats + attribute_float;
  return is_list_type(type) ? type - 1 : type;
}

}  // namespace onnxkit::wire::text
