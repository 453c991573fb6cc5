#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/formats/torchscript/item.h"
#include "converters/formats/torchscript/schema.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

/// An argument of a call by its name; empty for one that is given by its place.
struct NamedItem {
  std::string_view name;
  Item item;
};

inline Items items_of(std::span<const NamedItem> arguments) {
  Items items;
  for (const NamedItem& argument : arguments) items.push_back(argument.item);
  return items;
}

/// The number of c10::ScalarType that the code knows an element type by.
std::optional<std::int64_t> scalar_type_of(ElementType type);

/// Writes calls of operators into a foreign graph with the names that ATen's schemas give their arguments, as .pt2 has them.
class GraphWriter {
 public:
  explicit GraphWriter(foreign::Model& model) : model_(model) { open(model.graph, {}); }

  /// A call of an operator of ATen, which the arguments choose the overload of. One without a fitting overload becomes a node that no mapping
  /// knows, so that it is reported with all others.
  Item call(std::string_view name, std::span<const NamedItem> arguments);
  /// Whether PyTorch has an overload that takes these arguments as they are.
  bool takes(std::string_view name, std::span<const NamedItem> arguments) const;
  /// A node with these arguments that gives one value of a kind.
  Item node(std::string_view op, std::vector<foreign::Argument> arguments, Item::Kind kind);
  Items node_of_tensors(std::string_view op, std::vector<foreign::Argument> arguments, std::size_t results);
  foreign::Argument argument(std::string_view name, const Item& item);

  /// As many of the values of an unsplit list as there are.
  Items split(const Item& unsplit, std::size_t count);
  /// The value of an item in the graph at hand: a value of a graph outside of it becomes an input.
  foreign::ValueId here(const Item& item);

  // ---- graphs inside nodes

  /// `captured` is what `close` gave when the body is opened again, the inputs from `first` on.
  void open(foreign::Graph& body, Items captured, std::size_t first = 0);
  /// What the body takes from outside, in the order of its inputs.
  Items close();
  bool is_inside() const { return frames_.size() > 1; }
  const foreign::Graph& graph() const { return *frames_.back().graph; }
  std::string_view keep(std::string_view text) { return model_.strings->keep(text).view(); }

  /// A graph that is open, and what it takes from outside: by graph and value, its input.
  struct Frame {
    foreign::Graph* graph;
    std::map<std::pair<const foreign::Graph*, foreign::ValueId>, foreign::ValueId> inputs;
    Items captured;
  };
  /// From the main graph inwards.
  std::span<const Frame> frames() const { return frames_; }

  void set_scope(std::string_view scope) { scope_ = scope; }
  std::string_view scope() const { return scope_; }
  void set_source(std::string_view source) { source_ = source; }

 private:
  const Schema* overload(std::string_view name, std::span<const NamedItem> arguments) const;
  foreign::Node& add_node(std::string_view op);
  std::optional<foreign::Argument> typed_argument(const SchemaArgument& wanted, const Item& item);
  Item unmapped(std::string_view name, std::span<const NamedItem> arguments);
  Item result_of(const ArgumentType& type, std::size_t node);

  foreign::Model& model_;
  Schemas schemas_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, std::size_t> names_;
  std::string_view scope_, source_;
};

}  // namespace onnxkit::torchscript
