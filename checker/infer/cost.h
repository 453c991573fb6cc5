#pragma once

#include <optional>
#include <vector>

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

/// Bytes of a value's elements; unknown for strings, sequences and unknown sizes. Packed types round up only as a whole.
Dim value_bytes(const Type& type, DimPool& dims);

/// The most bytes of inputs and node outputs alive at once when a graph runs in file order.
struct ActivationPeak {
  /// The peak is the greatest of these: one where it can be decided for tensors that are not empty. None when a size is unknown,
  /// a sum too large, or there were too many.
  std::vector<Dim> amounts;
  /// The first value whose size is unknown; none when all are known.
  ir::ValueId unknown = ir::ValueId::none;
};

ActivationPeak activation_peak(const ir::Graph& graph, const GraphInfo& info, DimPool& dims);

}  // namespace onnxkit::checker
