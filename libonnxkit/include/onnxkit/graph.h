#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onnxkit/element_type.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// The graphs of a model, as the file states them: views that copy nothing, and changes of one graph. Views, and the texts and spans that they
// give, hold until the model changes or ends. Indices must be in range. Names are raw bytes of the file.
namespace onnxkit {

namespace ir {
struct Attribute;
struct DeclaredType;
struct Function;
struct Graph;
struct Node;
}  // namespace ir

class AttributeView;
class GraphView;
class NodeView;

/// A value among those of its graph; `none` is an input or output that a node leaves out.
enum class ValueIndex : std::uint32_t { none = 0xffffffff };

/// A size that a model declares: a number, a name, or neither.
struct DeclaredSize {
  std::optional<std::int64_t> number;
  std::string_view name;
};

/// A type that a model declares.
class ONNXKIT_API TypeView {
 public:
  explicit TypeView(const ir::DeclaredType& type) : type_(&type) {}

  /// none where the file says nothing or what this library does not know (opaque types).
  ValueKind kind() const;
  bool is_sparse() const;
  /// Of a tensor; of the keys of a map.
  ElementType element_type() const;
  /// Of a tensor of known rank.
  std::optional<std::vector<DeclaredSize>> shape() const;
  /// Of a sequence's or an optional's element, of a map's values.
  std::optional<TypeView> element() const;

 private:
  const ir::DeclaredType* type_;
};

/// An input or output of a graph, or a value that value_info describes.
struct DeclaredValue {
  ValueIndex value = ValueIndex::none;
  std::string_view name;
  std::optional<TypeView> type;
};

enum class AttributeKind : std::uint8_t {
  none,
  real,
  integer,
  string,
  tensor,
  graph,
  sparse_tensor,
  type,
  reals,
  integers,
  strings,
  tensors,
  graphs,
  sparse_tensors,
  types
};

/// An attribute of a node. What is asked for in another kind than its own is nothing, or empty.
class ONNXKIT_API AttributeView {
 public:
  explicit AttributeView(const ir::Attribute& attribute) : attribute_(&attribute) {}

  std::string_view name() const;
  AttributeKind kind() const;
  /// In a function: the attribute of the call that gives the value.
  std::string_view reference() const;
  std::optional<float> real() const;
  std::optional<std::int64_t> integer() const;
  std::optional<std::string_view> string() const;
  std::span<const float> reals() const;
  std::span<const std::int64_t> integers() const;
  std::vector<std::string_view> strings() const;
  /// Errors: usage for another kind; those of the tensor's data. Data outside the model file is not read: external-missing.
  Result<Tensor> tensor() const;
  /// One for an attribute of kind graph.
  std::vector<GraphView> graphs() const;

 private:
  const ir::Attribute* attribute_;
};

class ONNXKIT_API NodeView {
 public:
  explicit NodeView(const ir::Node& node) : node_(&node) {}

  std::string_view name() const;
  std::string_view op_type() const;
  /// "" for ai.onnx.
  std::string_view domain() const;
  std::string_view overload() const;
  std::size_t input_count() const;
  std::size_t output_count() const;
  ValueIndex input(std::size_t index) const;
  ValueIndex output(std::size_t index) const;
  std::size_t attribute_count() const;
  AttributeView attribute(std::size_t index) const;
  std::optional<AttributeView> find_attribute(std::string_view name) const;

 private:
  const ir::Node* node_;
};

/// A main graph, a subgraph or the body of a function.
class ONNXKIT_API GraphView {
 public:
  explicit GraphView(const ir::Graph& graph) : graph_(&graph) {}

  std::string_view name() const;
  std::size_t node_count() const;
  NodeView node(std::size_t index) const;
  /// All names that the graph mentions, those of outer graphs that it reads among them.
  std::size_t value_count() const;
  std::string_view value_name(ValueIndex value) const;
  /// none where the graph does not mention the name.
  ValueIndex find_value(std::string_view name) const;
  std::size_t input_count() const;
  DeclaredValue input(std::size_t index) const;
  std::size_t output_count() const;
  DeclaredValue output(std::size_t index) const;
  /// What value_info says; `infer` makes it complete.
  std::size_t value_info_count() const;
  DeclaredValue value_info(std::size_t index) const;
  std::size_t initializer_count() const;
  std::string_view initializer_name(std::size_t index) const;
  ElementType initializer_type(std::size_t index) const;
  std::span<const std::int64_t> initializer_dims(std::size_t index) const;
  bool initializer_is_external(std::size_t index) const;
  /// The content. Errors: those of the tensor's data. Data outside the model file is not read: external-missing.
  Result<Tensor> initializer(std::size_t index) const;

 private:
  const ir::Graph* graph_;
};

struct FunctionView {
  std::string_view domain, name, overload;
  GraphView body;
};

/// nothing for a model without a graph.
ONNXKIT_API std::optional<GraphView> main_graph(const Model& model);
ONNXKIT_API std::vector<FunctionView> functions(const Model& model);

/// An attribute as data.
using AttributeValue = std::variant<float, std::int64_t, std::string, std::vector<float>, std::vector<std::int64_t>,
                                    std::vector<std::string>, Tensor>;

struct NewNode {
  std::string op_type;
  std::string domain = {};
  std::string name = {};
  /// Names of values; "" leaves one out.
  std::vector<std::string> inputs = {}, outputs = {};
  std::map<std::string, AttributeValue> attributes = {};
};

/// Changes of a model's main graph. Nothing is checked that `check` checks: what is left without a definition or unsorted is found there.
/// Views of the model end with each change.
class ONNXKIT_API GraphEditor {
 public:
  /// The model must have a graph and outlive the editor.
  explicit GraphEditor(Model& model);

  /// Puts a node before the node of that index; nothing: behind all. Errors: usage for an index beyond the end.
  Result<void> add_node(const NewNode& node, std::optional<std::size_t> before = std::nullopt);
  /// Errors: usage.
  Result<void> remove_node(std::size_t index);
  /// Sets or replaces. Errors: usage.
  Result<void> set_attribute(std::size_t node, std::string_view name, const AttributeValue& value);
  /// Nothing happens where there is none of that name. Errors: usage.
  Result<void> remove_attribute(std::size_t node, std::string_view name);
  /// The node reads another value, by name. Errors: usage.
  Result<void> set_input(std::size_t node, std::size_t input, std::string_view value);
  /// Gives a value another name, in the subgraphs that read it, too. Errors: unknown-value; usage when a graph has that name already.
  Result<void> rename_value(std::string_view from, std::string_view to);
  /// Adds or replaces the initializer of that name. Errors: unsupported-format for strings.
  Result<void> set_initializer(std::string_view name, const Tensor& content);

 private:
  Model* model_;
};

}  // namespace onnxkit
