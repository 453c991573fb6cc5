#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "checker/infer/inference.h"
#include "converters/layout/permutation.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/model.h"

// What each operator needs to compute on values whose axes are in another order.
namespace onnxkit::layout {

/// What is known of a node and its values.
class NodeFacts {
 public:
  NodeFacts(const ir::Graph& graph, const ir::Node& of, const checker::InferredModel& inferred, std::int64_t version)
      : node(of), opset(version), graph_(graph), inferred_(inferred) {}

  const ir::Node& node;
  const std::int64_t opset;

  bool has(std::size_t input) const { return input < node.inputs.size() && node.inputs[input] != ir::ValueId::none; }
  /// Null when the rank is unknown.
  const checker::Shape* shape(std::size_t input) const { return shape_of(at(node.inputs, input)); }
  const checker::Shape* output_shape(std::size_t output = 0) const { return shape_of(at(node.outputs, output)); }
  std::optional<std::size_t> rank(std::size_t input) const;
  std::optional<std::size_t> output_rank(std::size_t output = 0) const;
  ElementType elem(std::size_t input) const;
  /// All elements of an input, when they are known integers.
  std::optional<std::vector<std::int64_t>> integers(std::size_t input) const;
  std::int64_t attribute(std::string_view name, std::int64_t fallback) const;
  const std::vector<std::int64_t>* list(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  /// An axis counted from the end becomes one counted from the start; nullopt where there is none.
  static std::optional<std::int64_t> axis(std::int64_t given, std::size_t rank);
  static std::optional<Axes> axes(const std::vector<std::int64_t>& given, std::size_t rank);

 private:
  static ir::ValueId at(const std::vector<ir::ValueId>& ids, std::size_t i) {
    return i < ids.size() ? ids[i] : ir::ValueId::none;
  }
  const checker::Shape* shape_of(ir::ValueId id) const;

  const ir::Graph& graph_;
  const checker::InferredModel& inferred_;
};

/// An input or output whose axes follow those of the node's frame, which is the value that it computes on. `removed` are the axes of the
/// frame that this value lacks.
struct Port {
  std::size_t index = 0;
  bool is_output = false;
  Axes removed = {};
};

/// A node that may compute on permuted values: in a frame of any order, with all ports in that order.
struct Frame {
  std::size_t rank = 0;
  std::vector<Port> ports;
};

/// A node that is being written for another frame. New constants and nodes go before it.
class NodeEditor {
 public:
  virtual ~NodeEditor() = default;
  virtual ir::ValueId constant(ElementType type, const std::vector<std::int64_t>& values) = 0;
  /// A stored vector with its elements in that order; none when it is not stored.
  virtual ir::ValueId reordered(ir::ValueId vector, const Permutation& order) = 0;
  /// A node of one output, whose value it returns.
  virtual ir::ValueId emit(std::string_view op, std::vector<ir::ValueId> inputs,
                           const std::vector<ir::Attr>& attributes) = 0;

  ir::Node* node = nullptr;  ///< with inputs that are in the frame already
  void set_attribute(const ir::Attr& attribute);
  void set_input(std::size_t input, ir::ValueId value);

 protected:
  virtual ir::Attribute made(const ir::Attr& attribute) = 0;
};

struct Rule {
  /// The frame of a node; nullopt when it computes on its own order only.
  std::optional<Frame> (*frame)(const NodeFacts& facts);
  /// Writes the node for a frame whose axes are in this order. Null when nothing but the order of its values changes.
  void (*rewrite)(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) = nullptr;
};

/// By operator of ai.onnx.
class Rules {
 public:
  void add(std::initializer_list<std::string_view> ops, const Rule& rule) {
    for (const std::string_view op : ops) rules_.emplace(op, rule);
  }
  const Rule* find(std::string_view op) const {
    const auto found = rules_.find(op);
    return found == rules_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string_view, Rule> rules_;
};

/// A frame of one input and all outputs, of the same rank.
std::optional<Frame> same_rank_frame(const NodeFacts& facts);
/// Elements in the order of the frame; a constant, or a Gather of what computes them.
void permute_elements(const NodeFacts& facts, std::size_t input, const Permutation& order, NodeEditor& editor);

}  // namespace onnxkit::layout
