#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

// The messages of TensorFlow's graphs as far as they are read. Text views into the file.
namespace onnxkit::saved_model {

struct NodeDef {
  std::string_view name, op;
  std::vector<std::string_view> inputs;  ///< "node", "node:1", in functions "node:output:0"; control inputs "^node"
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  ///< with the bytes of an AttrValue

  /// The bytes of an attribute, empty when there is none.
  std::string_view attribute(std::string_view wanted) const {
    for (const auto& [key, value] : attributes)
      if (key == wanted) return value;
    return {};
  }
};

/// Nodes by name.
struct NodeTable {
  std::vector<NodeDef> nodes;
  std::unordered_map<std::string_view, const NodeDef*> by_name;

  const NodeDef* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }
  void index();
};

struct FunctionDef {
  std::string_view name;
  std::vector<std::string_view> parameters;
  std::unordered_map<std::string_view, std::size_t> parameter_places;
  std::vector<std::string_view> results;  ///< what each result is: "node:output:0", or a parameter
  std::vector<std::string_view> effects;  ///< nodes that run whether or not a result needs them
  NodeTable table;
};

struct GraphDef {
  NodeTable table;
  std::map<std::string_view, std::unique_ptr<FunctionDef>> functions;
};

/// Error code: malformed-model.
Result<std::unique_ptr<GraphDef>> read_graph_def(std::string_view message);

/// An AttrValue: a constant, or a list of such. A shape is a list of sizes, -1 where one is not known, and none when its rank is not
/// known. What is no constant (tensors, functions) gives none.
std::optional<foreign::Argument> argument_of(std::string_view name, std::string_view attr_value);
/// The number of a type; 0 when it is none.
std::int64_t type_of_attribute(std::string_view attr_value);
/// The name of a function, and of a list of them.
std::vector<std::string_view> functions_of_attribute(std::string_view attr_value);
/// The text of an attribute.
std::string_view text_of_attribute(std::string_view attr_value);

/// A TensorShapeProto; nullopt when the rank is not known.
std::optional<std::vector<std::int64_t>> read_shape(std::string_view message, bool& damaged);

/// A TensorProto.
struct TensorProto {
  std::int64_t type = 0;
  std::vector<std::int64_t> dims;
  std::string_view content;  ///< all elements, as in memory; empty where single values are given
  std::string values;        ///< elements as in memory; the last stands for all behind it
  std::vector<std::string_view> strings;
};
/// That of an attribute.
Result<TensorProto> tensor_of_attribute(std::string_view attr_value);

}  // namespace onnxkit::saved_model
