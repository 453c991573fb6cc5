#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/opset/engine/inferred_values.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/op_schema.h"

namespace onnxkit::opset {

/// Why a node cannot be converted. Thrown by steps, caught by the driver, which adds where.
struct Refusal {
  std::string code;  ///< no-equivalent, unknown-fact or type-not-there
  std::string reason;
};
/// What the newer version can say and the older one cannot.
[[noreturn]] void refuse(std::string reason);
/// An equivalent exists, but choosing it takes knowledge that the model does not give.
[[noreturn]] void refuse_unknown(std::string reason);

using ir::Attr;

/// What a step answers: nodes around the node or in its place. Values that it makes have ids from the size of the graph's own values on.
struct Patch {
  bool replaces = false;  ///< the node goes
  bool edits = false;     ///< the node changes
  std::optional<std::string> op_type;
  std::optional<std::vector<ValueId>> inputs, outputs;
  std::vector<ir::Attribute> set;
  std::vector<std::string> removed;
  std::vector<std::pair<std::string, std::string>> renamed;
  std::vector<ir::Node> added;
  std::size_t before = static_cast<std::size_t>(-1);  ///< so many of `added` stand before the node
  std::vector<std::string> new_values;                ///< what their names end in
  /// Last change by hand: the node as it was or is edited, then the added nodes. For steps that move or change bodies.
  std::function<void(ir::Model&, ir::Node&, std::vector<ir::Node>&)> finish;
  std::vector<std::string> notes;
  std::vector<ValueId> declared;  ///< values whose declared sizes are relied on
  /// A graph that the step made; its values get names that are unique in the model.
  struct Body {
    ir::Graph* graph = nullptr;
    std::vector<std::pair<ValueId, std::string>> made;  ///< and what their names end in
  };
  std::vector<Body> bodies;

  bool empty() const { return !replaces && !edits && added.empty() && !finish; }
};

/// One version change of one node: what a step can ask, and how it builds its answer. Nodes are written for the opset that the step leads to.
/// Without a call that builds something the node stays as it is.
class Step {
 public:
  struct Setting {
    ir::Model& model;
    InferredValues& inferred;
    const Scope& scope;
    const spec::OpSchema& before;
    const spec::OpSchema* after;  ///< null when the operator does not exist there
    std::int64_t opset_before;
    std::int64_t opset_after;
    bool follows_scaled_length = false;
  };
  Step(const Setting& setting, std::size_t node);

  const ir::Node& node() const { return node_; }
  const ir::Graph& graph() const { return *setting_.scope.graph; }
  const spec::OpSchema& before() const { return setting_.before; }
  std::int64_t opset_after() const { return setting_.opset_after; }
  /// The user said that align_corners measures positions by the scaled length.
  bool follows_scaled_length() const { return setting_.follows_scaled_length; }
  /// The node lies in the body of a model-local function.
  bool in_function() const;

  // ---- inputs and outputs

  std::size_t input_count() const { return node_.inputs.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  /// `none` when omitted.
  ValueId input(std::size_t index) const;
  ValueId output(std::size_t index) const;
  bool has_input(std::size_t index) const { return input(index) != ValueId::none; }
  /// Named and read by something: a node, a body or the graph's own outputs.
  bool is_used(std::size_t output) const;

  // ---- attributes: the node's value, else the default of the version before. A value that the caller of the function gives refuses the step.

  bool has(std::string_view attribute) const { return node_.find_attribute(attribute) != nullptr; }
  /// Given by the caller of the function that the node lies in.
  bool is_reference(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t fallback = 0) const;
  std::optional<std::int64_t> find_integer(std::string_view attribute) const;
  float real(std::string_view attribute, float fallback = 0) const;
  std::optional<float> find_real(std::string_view attribute) const;
  std::string string(std::string_view attribute, std::string_view fallback = {}) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view attribute) const;
  std::optional<std::vector<float>> reals(std::string_view attribute) const;
  /// The list on the node itself, as `spec::NodeAttributes::list_as_written` reads it.
  template <class T>
  const std::vector<T>* list_as_written(std::string_view attribute) const {
    const ir::Attribute* set = given(attribute);
    return set ? &spec::list_as_written<T>(*set) : nullptr;
  }

  // ---- what is known of values

  /// Null also for values that the step made.
  const checker::Type* type(ValueId value) const;
  /// `undefined` when unknown or no tensor.
  ElementType elem(ValueId value) const;
  std::optional<std::int64_t> rank(ValueId value) const;
  /// Null when the rank is unknown.
  const checker::Shape* shape(ValueId value) const;
  /// Shapes whose symbolic sizes may be compared with each other; nullopt when a rank is unknown. (Sizes of `shape` are comparable within one
  /// value only: inference ran anew for values that conversion made.)
  std::optional<std::vector<checker::Shape>> comparable_shapes(const std::vector<ValueId>& values) const;
  /// Two bodies of the node are known to give an output of the same shape.
  bool give_one_shape(std::string_view body, std::string_view other, std::size_t output) const;
  /// All sizes when all are constants.
  std::optional<std::vector<std::int64_t>> sizes(ValueId value) const;
  std::optional<checker::Constant> constant(ValueId value) const;
  std::optional<std::vector<std::int64_t>> constant_integers(ValueId value) const;
  std::optional<std::vector<double>> constant_reals(ValueId value) const;
  std::optional<double> constant_real(ValueId value) const;
  /// The same, or a refusal that names what is not known.
  ElementType need_elem(ValueId value) const;
  std::int64_t need_rank(ValueId value) const;

  // ---- changes of the node itself

  void set(Attr attribute);
  void set_attribute(ir::Attribute attribute);
  /// A copy of an attribute of the node (no graphs) under another name.
  void set_copy(std::string_view from, std::string_view to);
  void remove(std::string_view attribute);
  void rename(std::string_view attribute, std::string_view to);
  void set_op(std::string_view op_type);
  /// Grows the inputs where needed.
  void set_input(std::size_t index, ValueId value);
  void drop_inputs(std::size_t from);
  void set_output(std::size_t index, ValueId value);
  void drop_outputs(std::size_t from);

  // ---- new nodes and values

  /// A value without a producer yet; its name ends in `hint`.
  ValueId value(std::string_view hint);
  /// A node with one output, which is returned.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, std::vector<Attr> attributes = {},
              std::string_view hint = {});
  /// A node that writes these outputs. The node is returned for attributes that Attr cannot say; valid until the next one is made.
  ir::Node& emit(std::string_view op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                 std::vector<Attr> attributes = {});
  /// A copy of a node of a body among the new nodes, without its name.
  void emit_copy(const ir::Node& node, std::vector<ValueId> inputs, std::vector<ValueId> outputs);
  /// Constant nodes: a vector of int64 or float, a scalar of int64, a scalar of any numeric type. Below opset 9, where Constant holds real
  /// numbers only, a Cast follows.
  ValueId vector(const std::vector<std::int64_t>& values, std::string_view hint = {});
  ValueId vector(const std::vector<float>& values, std::string_view hint = {});
  ValueId scalar(std::int64_t value, std::string_view hint = {});
  ValueId number(ElementType type, double value, std::string_view hint = {});
  /// Any tensor of numbers, rounded to the type: as itself, or as a Constant node.
  ir::Tensor tensor(ElementType type, std::vector<std::int64_t> dims, const std::vector<double>& values);
  ValueId numbers(ElementType type, std::vector<std::int64_t> dims, const std::vector<double>& values,
                  std::string_view hint = {});
  ValueId constant_node(ir::Tensor tensor, std::string_view hint = {});
  ir::Attribute attribute(Attr attribute);
  ir::Attribute attribute(std::string_view name, ir::Tensor tensor);
  /// Keeps text as long as the model lives.
  Text keep(std::string_view text) { return setting_.model.keep(text); }

  /// Nodes that the step has added to the node's graph.
  std::size_t added_count() const { return patch_.added.size(); }

  // ---- bodies of new nodes

  /// From here to end_body all that is made goes into a new graph, of whose values nothing is known.
  void begin_body();
  ValueId body_input(std::string_view hint, ElementType type = ElementType::undefined,
                     std::optional<std::int64_t> rank = {});
  /// A value of the node's own graph, seen from the body. Not one that the step made.
  ValueId captured(ValueId outer);
  /// Type and rank are declared where they are told.
  void body_output(ValueId value, ElementType type = ElementType::undefined, std::optional<std::int64_t> rank = {});
  ir::Attribute end_body(std::string_view attribute);

  /// The node goes; what was added writes its outputs.
  void replace() { patch_.replaces = true; }
  /// Nodes added from here on come after the node.
  void then() { patch_.before = patch_.added.size(); }
  void finish(std::function<void(ir::Model&, ir::Node&, std::vector<ir::Node>&)> change) {
    patch_.finish = std::move(change);
  }
  /// What was done, for the plan; without it the registry's text stands.
  void note(std::string text) { patch_.notes.push_back(std::move(text)); }
  /// The answer holds as long as the value has the sizes that the model declares of it; the plan says so.
  void rely_on_declaration(ValueId value) {
    if (patch_.declared.empty() || patch_.declared.back() != value) patch_.declared.push_back(value);
  }

  Patch take() { return std::move(patch_); }

 private:
  const ir::Attribute* given(std::string_view attribute) const;
  const ir::Attribute* given_list(std::string_view attribute) const;
  const spec::AttributeSchema* with_default(std::string_view attribute) const;
  std::vector<ValueId>& edited_inputs();
  std::vector<ValueId>& edited_outputs();

  const Setting& setting_;
  const ir::Node& node_;
  Patch patch_;
  std::unique_ptr<ir::Graph> body_;  ///< that is being made
};

}  // namespace onnxkit::opset
