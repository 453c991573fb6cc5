#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converters/containers/protobuf_writer.h"
#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::saved_model {

std::int64_t type_number(ElementType elem);
containers::ProtoMessage shape_message(const std::vector<std::int64_t>& dims);
/// Open sizes are -1.
containers::ProtoMessage shape_message(const foreign::TensorType& type);
containers::ProtoMessage entry_message(std::string_view key, containers::ProtoMessage value);
/// A name with the characters that names of nodes may have: [A-Za-z0-9.][A-Za-z0-9_.\-/]*
std::string node_name(std::string_view name);

/// A node on its way: attributes are written in the order of their names.
class NodeMessage {
 public:
  NodeMessage(std::string_view name, std::string_view op);
  void input(std::string_view reference) { node_.text(3, reference); }
  void attribute(std::string_view name, containers::ProtoMessage value) {
    attributes_.insert_or_assign(name, std::move(value));
  }
  void type(std::string_view name, std::int64_t number);
  void types(std::string_view name, const std::vector<std::int64_t>& numbers);
  void text(std::string_view name, std::string_view content);
  void integer(std::string_view name, std::int64_t number);
  void shape(std::string_view name, containers::ProtoMessage shape);
  void tensor(std::string_view name, containers::ProtoMessage tensor);
  void function(std::string_view name, std::string_view function);
  containers::ProtoMessage finish();

 private:
  containers::ProtoMessage node_;
  std::map<std::string_view, containers::ProtoMessage> attributes_;
};

/// The functions of a graph: the bodies of its nodes.
struct FunctionLibrary {
  std::vector<containers::ProtoMessage> functions;
  std::optional<Error> fault;  ///< the first of all graphs
};

/// The nodes of a graph, or of a function whose inputs have these types.
class NodeWriter {
 public:
  NodeWriter(const foreign::Graph& graph, FunctionLibrary& library, bool is_function);

  void refer(foreign::ValueId value, std::string reference) {
    references_[foreign::index_of(value)] = std::move(reference);
  }
  const std::string& reference(foreign::ValueId value) const { return references_[foreign::index_of(value)]; }
  void set_type(foreign::ValueId value, std::int64_t type) { types_.insert_or_assign(foreign::index_of(value), type); }
  std::int64_t type_of(foreign::ValueId value);
  /// Keeps a name from being given to another node.
  bool reserve(std::string_view name) { return names_.emplace(name).second; }
  std::string unique(std::string name);

  void add(NodeMessage& node) { nodes_.push_back(node.finish()); }
  void write_constant(std::string_view name, std::int64_t type, containers::ProtoMessage content);
  /// A stored tensor as a constant of this name.
  void write_tensor(const foreign::Tensor& tensor, const std::string& name);
  /// Without a name, one that is made of the name of its first result.
  void write_node(const foreign::Node& node, std::string name = {});
  void lacks_type(std::string_view name, ElementType elem);
  std::vector<containers::ProtoMessage>& nodes() { return nodes_; }

 private:
  void write_attribute(NodeMessage& node, const foreign::Argument& argument);
  void write_derived(NodeMessage& made, const foreign::Node& node);
  void write_bodies(NodeMessage& made, const foreign::Node& node, const std::vector<foreign::ValueId>& operands);
  /// Adds a graph as a function and tells the types of its results.
  std::string add_function(const foreign::Graph& graph, const std::vector<std::int64_t>& inputs,
                           std::vector<std::int64_t>& results);
  void refer_outputs(const foreign::Node& node, const std::string& name);

  const foreign::Graph& graph_;
  FunctionLibrary& library_;
  bool is_function_;
  std::vector<containers::ProtoMessage> nodes_;
  std::vector<std::string> references_;                  ///< by ValueId: "node", "node:1", in functions "node:output:1"
  std::unordered_map<std::size_t, std::int64_t> types_;  ///< of values, where not as declared
  std::unordered_set<std::string> names_;
};

}  // namespace onnxkit::saved_model
