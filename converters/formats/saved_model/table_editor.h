#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "converters/formats/saved_model/graph_def.h"
#include "libonnxkit/base/text/string_pool.h"

namespace onnxkit::saved_model {

/// "node:1" or, in a function, "node:output:1": an output of a node; no node for a parameter of a function.
struct Reference {
  NodeDef* node = nullptr;
  std::size_t index = 0;

  friend bool operator==(const Reference&, const Reference&) = default;
};

/// A table of nodes that is being changed: nodes stay where they are until `finish`.
class TableEditor {
 public:
  TableEditor(GraphDef& graph, NodeTable& table, const FunctionDef* function, StringPool& strings);

  std::deque<NodeDef>& nodes() { return nodes_; }
  NodeDef* find(std::string_view name) const;
  /// What an input names, without a control input's mark; nullopt when there is no such node or parameter.
  std::optional<Reference> resolve(std::string_view input) const;
  /// A node of a name like this one that nothing else has.
  NodeDef& add(std::string_view wanted_name, std::string_view op);
  /// A function of the graph of a name like this one.
  FunctionDef& add_function(std::string_view wanted_name);
  std::string_view keep(std::string_view text) { return strings_.keep(text).view(); }
  /// The bytes of an attribute that names a function.
  std::string_view function_attribute(std::string_view name);
  void finish();

 private:
  template <class IsTaken>
  std::string_view free_name(std::string_view wanted, IsTaken is_taken);

  GraphDef& graph_;
  NodeTable& table_;
  const FunctionDef* function_;
  StringPool& strings_;
  std::deque<NodeDef> nodes_;
  std::unordered_map<std::string_view, NodeDef*> by_name_;
  std::size_t last_number_ = 0;
};

}  // namespace onnxkit::saved_model
