#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/foreign/onnx_builder.h"

namespace onnxkit::foreign {

class Importer;

/// A tensor of complex numbers: two of the same shape, as few operators of ONNX know complex ones. A real tensor has no imaginary part.
struct Complex {
  Val real, imaginary;
};

/// What a mapping sees of one node of another framework: its arguments by name, the ONNX graph so far, and where the results go. A
/// mapping that cannot express the node says so with `refuse`, and may go on: what it emits then is thrown away.
class Call {
 public:
  Call(Importer& importer, OnnxBuilder& builder, const Node& call, const Graph& graph)
      : onnx(builder), node(call), graph_(graph), importer_(importer) {}

  OnnxBuilder& onnx;
  const Node& node;

  // ---- arguments; missing ones have the default

  bool has(std::string_view name) const;
  /// The value behind an argument, and those of a list.
  Val value_of(const Argument& argument);
  std::vector<Val> values_of(const Argument& argument);
  const Argument* argument(std::string_view name) const { return node.find(name); }
  /// A value of the graph; false when it is omitted.
  Val tensor(std::string_view name);
  std::vector<Val> tensors(std::string_view name);
  /// A tensor that may be complex; `tensor` and `tensors` refuse those that are.
  Complex complex(std::string_view name);
  Complex complex(const Argument& argument);
  /// A constant, or a value whose content is known. Refuses other ones.
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {});
  double real(std::string_view name, double fallback);
  std::vector<double> reals(std::string_view name);
  bool flag(std::string_view name, bool fallback);
  std::string_view text(std::string_view name, std::string_view fallback = {});
  ElementType elem(std::string_view name, ElementType fallback = ElementType::undefined);
  /// An axis of a tensor with this many, counted from the end when negative. Refuses one that there is not.
  std::int64_t axis(std::string_view name, std::int64_t fallback, std::size_t rank);
  /// The same for a list; all axes when it is empty or omitted.
  std::vector<std::int64_t> axes(std::string_view name, std::size_t rank);
  /// Sizes, which may be values, as one vector of int64.
  Val sizes(std::string_view name);
  /// One size, which may be a value, as a vector of one int64.
  Val size(std::string_view name, std::int64_t fallback);
  /// A number or a tensor, as a tensor of type `elem`; a number has no axes.
  /// Of a complex number the part at hand.
  Val number(std::string_view name, ElementType elem, double fallback = 0);
  /// The same where it may be complex; `part` is the type of each part.
  Complex complex_number(std::string_view name, ElementType part);
  /// Refuses when the rank is not known.
  std::size_t rank(Val value);

  // ---- results

  void result(Val value) { results({value}); }
  void result(const Complex& value);
  /// In the order of the node's outputs.
  void results(const std::vector<Val>& values);
  /// The declared element type of an output; undefined when the file does not say.
  ElementType declared_elem(std::size_t output = 0) const;
  const TensorType* declared_type(std::size_t output = 0) const;
  /// What the file says of an argument or an output; null for an omitted one.
  const Value* declared(std::string_view argument_name) const;
  const Value* declared(const Argument& item) const;
  const Value* declared_output(std::size_t output = 0) const;
  /// What the file stores of an argument; null when that is computed.
  const Tensor* stored(std::string_view argument_name) const;
  /// Whether an output of the node is one of its graph.
  bool is_output(std::size_t output = 0) const;
  /// That of an argument.
  const TensorType* declared_type(std::string_view name) const;

  /// Says why ONNX cannot express this node, and what may help.
  void refuse(std::string reason, std::string help = {});
  /// Whether the model has this opset, whose operator the mapping needs. If not, the mapping ends, and the model is imported again with it.
  bool has_opset(std::int64_t opset);
  std::int64_t opset() const;
  bool refused() const;

  // ---- bodies

  /// Imports the nodes of a graph of the node into the graph at hand, with these values as its inputs; returns its outputs.
  std::vector<Val> inlined(const Graph& body, std::vector<Val> inputs);
  /// After bodies: nodes are again named after this call's.
  void restore_origin() { onnx.set_origin(node.name, node.scope, node.source); }

 private:
  Val as_size(const Argument& argument);
  Val part_at_hand(std::string_view name, const Argument& argument, Val value);
  /// The type of what a mapping is given of a tensor: of complex ones that of the part at hand.
  ElementType at_hand(ElementType elem) const;

  const Graph& graph_;
  Importer& importer_;
};

}  // namespace onnxkit::foreign
