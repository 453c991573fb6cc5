#pragma once

#include <optional>

#include "checker/infer/infer_traits.h"
#include "checker/infer/inference.h"

namespace onnxkit::checker {

/// A node's shapes as a CostFunction sees them.
class NodeShapes {
 public:
  NodeShapes(const ir::Node& node, const GraphInfo& info, DimPool& dims) : node_(node), info_(info), dims_(dims) {}

  const ir::Node& node() const { return node_; }
  DimPool& dims() const { return dims_; }
  /// Null when omitted or unknown.
  const Shape* input(std::size_t i) const { return i < node_.inputs.size() ? shape(node_.inputs[i]) : nullptr; }
  const Shape* output(std::size_t i) const { return i < node_.outputs.size() ? shape(node_.outputs[i]) : nullptr; }
  /// The product of the sizes from axis `from` on.
  Dim elements(const Shape* shape, std::size_t from = 0) const;

 private:
  const Shape* shape(ir::ValueId id) const;

  const ir::Node& node_;
  const GraphInfo& info_;
  DimPool& dims_;
};

/// What the operator's cost says of a node: 0 for operators without contractions, unknown where shapes are.
Dim multiply_adds(const InferTraits& traits, const ir::Node& node, const GraphInfo& info, DimPool& dims);

/// Largest number of bytes of node outputs alive at once when the graph runs in file order; unknown when a size is. For symbolic sizes the
/// maximum is taken where it can be decided, else written as max(...).
Dim activation_peak(const ir::Graph& graph, const GraphInfo& info, DimPool& dims);

}  // namespace onnxkit::checker
