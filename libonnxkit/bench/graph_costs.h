#pragma once

#include <optional>
#include <vector>

#include "checker/infer/infer_traits.h"
#include "checker/infer/inference.h"
#include "libonnxkit/exec/backend.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::benching {

/// What the nodes of the main graph need, and the bytes of its values. The model must outlive it.
class GraphCosts {
 public:
  GraphCosts(const ir::Model& model, const spec::OpTable& table, const std::vector<NamedValue>& inputs);

  const ir::Graph& graph() const { return graph_; }
  /// It has products, or nobody knows.
  bool is_contraction(std::size_t node) const { return !products_[node].is(0); }
  /// Multiplications with additions.
  std::optional<double> products(std::size_t node) const;
  std::optional<double> bytes(ir::ValueId id);
  /// Of a value that a node reads, no more than it looks at.
  std::optional<double> read_bytes(std::size_t node, ir::ValueId id);
  /// Its output is its first input in another shape.
  bool is_view(std::size_t node) const {
    const auto& inputs = graph_.nodes[node].inputs;
    return traits_[node]->is_view && !inputs.empty() && inputs.front() != ir::ValueId::none;
  }
  /// It writes the elements of its first input in a wider type, as DequantizeLinear does.
  bool widens(std::size_t node) { return change_of_width(node) > 0; }
  bool narrows(std::size_t node) { return change_of_width(node) < 0; }

 private:
  const checker::Type* type_of(ir::ValueId id) const;
  std::optional<double> elements(ir::ValueId id);
  std::optional<double> written_elements(const ir::Node& node);
  /// How much of an input it looks at, as a share that may be more than 1.
  double looked_at(std::size_t node, std::size_t input);
  double change_of_width(std::size_t node);

  const ir::Graph& graph_;
  checker::InferredModel inferred_;
  const checker::GraphInfo* info_ = nullptr;
  std::vector<ir::Dim> products_;
  std::vector<const checker::InferTraits*> traits_;
};

}  // namespace onnxkit::benching
