#pragma once

#include <unordered_map>

#include "converters/formats/saved_model/graph_walk.h"

namespace onnxkit::saved_model {

/// Where values of a graph come from and how often they are read, for passes that look for nodes around a node.
class GraphIndex {
 public:
  explicit GraphIndex(foreign::Graph& graph);

  /// The node that computes a value; null for inputs and tensors.
  foreign::Node* writer(foreign::ValueId value) const;
  /// The same, if it has this operator.
  foreign::Node* writer(foreign::ValueId value, std::string_view op) const;
  /// The same, if nothing else reads the value.
  foreign::Node* only_writer(foreign::ValueId value, std::string_view op) const;
  const foreign::Tensor* tensor(foreign::ValueId value) const;
  /// The content of a small tensor of integers; nullopt for others.
  std::optional<std::vector<std::int64_t>> integers(foreign::ValueId value) const;
  std::size_t uses(foreign::ValueId value) const;

  /// A node takes over the results of a later one.
  void take_results(foreign::Node& node, foreign::Node& later);
  /// Another tensor of the same bytes.
  foreign::ValueId add_view(const foreign::Tensor& of, std::vector<std::int64_t> dims);

 private:
  foreign::Graph& graph_;
  std::unordered_map<foreign::ValueId, std::size_t> tensors_, writers_, uses_;
};

/// A value that a node is given; none when it is not given.
foreign::ValueId given_value(const foreign::Node& node, std::string_view name);
/// A flag, a text of a node, or what stands for a missing one.
bool given_flag(const foreign::Node& node, std::string_view name);
std::string_view given_text(const foreign::Node& node, std::string_view name);
/// Whether all numbers of a list are one; a missing list counts so.
bool are_ones(const foreign::Node& node, std::string_view name);
/// Replaces or adds an argument.
void set_argument(foreign::Node& node, foreign::Argument argument);

}  // namespace onnxkit::saved_model
