#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "checker/infer/type.h"
#include "converters/foreign/graph.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::foreign {

using checker::Dim;
using checker::Shape;
using checker::Type;

class Exporter;
struct WriteFrame;

/// The same type with other elements.
Type with_elem(Type type, ElementType elem);
/// A tensor of another shape.
Type with_shape(const Type& type, Shape shape);

/// An operator of ONNX, and the other framework's that does the same.
using Counterpart = std::pair<std::string_view, std::string_view>;
/// The other framework's operator for a node. Precondition: its row is there.
template <std::size_t N>
std::string_view counterpart(const Counterpart (&rows)[N], const ir::Node& node) {
  const auto* row = std::begin(rows);
  while (row->first != node.op_type.view()) ++row;
  return row->second;
}

/// How a framework of TensorFlow's family writes the operators that the family has in common.
struct Dialect {
  std::span<const Counterpart> names =
      {};                ///< of operators and attributes: TensorFlow's, and its own where they differ
  bool is_lite = false;  ///< positions and sizes are int32; the axes of Concat and Gather are attributes
};

/// What an operator of a framework is given: plain data, or values of the graph. A list of sizes may mix integers and values.
struct Given {
  using Mixed = std::vector<std::variant<std::int64_t, ValueId>>;
  std::string_view name;
  std::variant<std::monostate, ValueId, bool, std::int64_t, double, std::string_view, ElementType,
               std::vector<std::int64_t>, std::vector<double>, std::vector<ValueId>, Mixed>
      value = {};
};

Argument argument_of(const Given& given);

/// What a mapping sees of one ONNX node: its inputs with their types, its attributes, and the other framework's graph so far. Inputs are in the
/// opset of the writer. A mapping that cannot express the node says so with `refuse`, and may go on: what it emits then is thrown away.
class WriteCall {
 public:
  WriteCall(Exporter& exporter, WriteFrame& frame, const ir::Node& of) : node(of), exporter_(exporter), frame_(frame) {}

  const ir::Node& node;

  // ---- inputs; those beyond the last count as omitted

  bool has(std::size_t input) const;
  ValueId input(std::size_t input);
  /// All of them; omitted ones are none.
  std::vector<ValueId> inputs();
  /// Unknown for an omitted input.
  const Type& type(std::size_t input) const;
  ElementType elem(std::size_t input) const { return type(input).elem; }
  /// Null when the rank is unknown.
  const Shape* shape(std::size_t input) const { return type(input).shape ? &*type(input).shape : nullptr; }
  /// Refuses when it is unknown, and gives 0.
  std::size_t rank(std::size_t input);
  /// Of an axis whose size is a constant.
  std::optional<std::int64_t> size(std::size_t input, std::size_t axis) const;
  /// Elements that are all known integers.
  std::optional<std::vector<std::int64_t>> known_integers(std::size_t input) const;
  /// The same, refusing when they are not known.
  std::vector<std::int64_t> constant_integers(std::size_t input);
  /// Elements that may be expressions; empty when nothing is known.
  Shape symbolic_integers(std::size_t input) const;
  /// Elements of a small stored tensor or of known content.
  std::optional<std::vector<double>> known_reals(std::size_t input) const;
  std::optional<double> known_real(std::size_t input) const;
  /// nullopt when the input is no stored tensor. Its bytes lie as in raw_data.
  std::optional<Tensor> stored(std::size_t input) const;

  /// The node of this graph that computes an input, to be looked at; nothing is emitted for it. nullopt when there is none.
  std::optional<WriteCall> producer(std::size_t input) const;

  // ---- outputs

  std::size_t outputs() const { return node.outputs.size(); }
  bool has_output(std::size_t output) const;
  const Type& output_type(std::size_t output = 0) const;
  /// What inference knows of the elements of a result; empty when that is nothing.
  Shape symbolic_integers_of_output(std::size_t output = 0) const;

  // ---- attributes, with their defaults

  bool has_attribute(std::string_view name) const { return node.find_attribute(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {}) const;
  double real(std::string_view name, double fallback) const;
  std::vector<double> reals(std::string_view name) const;
  std::string_view text(std::string_view name, std::string_view fallback = {}) const;
  /// An axis counted from the start.
  std::int64_t axis(std::string_view name, std::int64_t fallback, std::size_t rank) const;
  static std::vector<std::int64_t> from_start(std::vector<std::int64_t> axes, std::size_t rank);

  /// An attribute that is a tensor, as a stored one of the graph. Refuses when there is none.
  ValueId tensor_attribute(std::string_view name);

  // ---- the other framework's graph

  ValueId emit(std::string_view op, std::vector<Given> given, Type type);
  std::vector<ValueId> emit_many(std::string_view op, std::vector<Given> given, std::vector<Type> types);
  /// The same of an operator whose result is a list of tensors.
  std::vector<ValueId> emit_list(std::string_view op, std::vector<Given> given, std::vector<Type> types);
  /// A node whose result is an integer that stands for a size.
  ValueId emit_size(std::string_view op, std::vector<Given> given, Dim size);
  /// A node that holds bodies.
  std::vector<ValueId> emit_node(Node node, std::vector<Type> types);
  const Type& type_of(ValueId value) const;
  ValueId tensor(ElementType elem, std::vector<std::int64_t> dims, std::string bytes);
  ValueId integers_tensor(ElementType elem, std::span<const std::int64_t> values);
  ValueId scalar(ElementType elem, double value);
  /// One int64.
  ValueId integer_scalar(std::int64_t value) { return scalar(ElementType::int64, static_cast<double>(value)); }
  /// Elements of a floating type.
  ValueId reals_tensor(ElementType elem, std::vector<std::int64_t> dims, std::span<const double> values);
  /// A stored tensor with its axes in another order, its bytes copied. Refuses what is stored otherwise.
  ValueId permuted(const Tensor& stored, const std::vector<std::int64_t>& order);
  /// The same for writers of files that put the bytes into that order (Tensor::order): nothing is copied.
  ValueId permuted_when_written(const Tensor& stored, const std::vector<std::int64_t>& order);
  /// What a key stands for in this graph, made by `make` when it is asked for first.
  template <class Make>
  ValueId once(const std::string& key, Make make) {
    if (const ValueId known = known_as(key); known != ValueId::none) return known;
    const ValueId made = make();
    set_known(key, made);
    return made;
  }
  /// The numbers that the integers of a value stand for.
  void set_quantization(ValueId value, Quantization quantization);
  /// Null when none is set.
  const Quantization* quantization_of(ValueId value) const;
  /// Text that lives as long as the graph.
  std::string_view keep(std::string_view text);
  checker::DimPool& dims();
  const Dialect& dialect() const;
  /// A value with an axis of that size, the first there is; none where there is none. What only a graph around this one has becomes an input.
  std::pair<ValueId, std::size_t> with_size(Dim size);
  /// Whether there is one.
  bool has_size(Dim size) const;

  // ---- bodies

  /// A graph of the node as a closed graph: its inputs, then what it reads of graphs around it, which `captures` are.
  struct Body {
    std::unique_ptr<Graph> graph;
    std::vector<ValueId> captures;
  };
  /// With `owns_constants` stored tensors of graphs around it are its own, as views of the same bytes, and no inputs.
  Body body(std::string_view attribute, bool owns_constants = false);
  /// The same without constants of its own: they become those of this graph, which the body reads. With a least size smaller ones stay, and those
  /// of graphs around it are its own, as above; larger ones may then be in this graph twice, as views of the same bytes.
  Body closed_body(std::string_view attribute, std::size_t least_bytes = 0);
  /// A type as values of graphs have it.
  TensorType declared(const Type& type);
  /// Gives a body further inputs, so that it has those of `all` in their order behind its own. Every one of its captures must be among them.
  void align_captures(Body& body, const std::vector<ValueId>& all);

  // ---- results

  void result(ValueId value) { results({value}); }
  /// In the order of the node's outputs; those that are not asked for may be missing.
  void results(const std::vector<ValueId>& values);
  /// Says why the framework cannot express this node, and what may help.
  void refuse(std::string reason, std::string help = {});
  bool refused() const;

 private:
  ValueId known_as(const std::string& key) const;
  void set_known(const std::string& key, ValueId value);

  Exporter& exporter_;
  WriteFrame& frame_;
};

}  // namespace onnxkit::foreign
