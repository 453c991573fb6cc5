#pragma once

#include <unordered_map>

#include "converters/formats/saved_model/graph_walk.h"

namespace onnxkit::saved_model {

/// Where values of a graph come from and how often they are read, for passes that look for nodes around a node.
class GraphIndex {
 public:
  explicit GraphIndex(Graph& graph);

  /// The node that computes a value; null for inputs and tensors.
  Node* writer(ValueId value) const;
  /// The same, if it has this operator.
  Node* writer(ValueId value, std::string_view op) const;
  /// The same, if nothing else reads the value.
  Node* only_writer(ValueId value, std::string_view op) const;
  const Tensor* tensor(ValueId value) const;
  /// The content of a small tensor of integers; nullopt for others.
  std::optional<std::vector<std::int64_t>> integers(ValueId value) const;
  std::size_t uses(ValueId value) const;

  /// A node takes over the results of a later one.
  void take_results(Node& node, Node& later);
  /// Another tensor of the same bytes.
  ValueId add_view(const Tensor& of, std::vector<std::int64_t> dims);

 private:
  Graph& graph_;
  std::unordered_map<ValueId, std::size_t> tensors_, writers_, uses_;
};

/// A value that a node is given; none when it is not given.
ValueId given_value(const Node& node, std::string_view name);
/// A flag, a text of a node, or what stands for a missing one.
bool given_flag(const Node& node, std::string_view name);
std::string_view given_text(const Node& node, std::string_view name);
/// Whether all numbers of a list are one; a missing list counts so.
bool are_ones(const Node& node, std::string_view name);
/// Replaces or adds an argument.
void set_argument(Node& node, Argument argument);

}  // namespace onnxkit::saved_model
