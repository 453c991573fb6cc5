#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::spec {

/// What a node of a model means.
struct ResolvedNode {
  std::optional<std::int64_t> opset;       ///< of the node's domain where the node is, if imported
  const ir::Function* function = nullptr;  ///< the function that it calls
  const OpSchema* schema =
      nullptr;  ///< the operator's version in force, deprecated ones too; null for calls and unknown operators
};

/// What every node of a model means, found once: subgraphs, function bodies and training graphs included. Holds for as long as the
/// model and the table do not change. A const table may be read from several threads.
class Resolution {
 public:
  Resolution(const ir::Model& model, const OpTable& table);
  Resolution(const ir::Model& model, std::span<const std::unique_ptr<ir::GraphScope>> scopes, const OpTable& table);

  /// For who builds a model: takes in the nodes that were added to a graph since, and the graphs inside them. Nodes that are known stay
  /// as they are.
  void extend(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets);

  /// By node. Empty for a graph that is none of the model's.
  std::span<const ResolvedNode> nodes(const ir::Graph& graph) const {
    const auto found = graphs_.find(&graph);
    return found == graphs_.end() ? std::span<const ResolvedNode>() : found->second;
  }
  const ResolvedNode& of(const ir::Graph& graph, std::size_t node) const { return graphs_.at(&graph)[node]; }
  const FunctionIndex& functions() const { return functions_; }
  const OpTable& table() const { return *table_; }

 private:
  ResolvedNode resolve(const ir::Node& node, std::span<const ir::OpsetImport> opsets) const;

  const OpTable* table_;
  FunctionIndex functions_;
  std::unordered_map<const ir::Graph*, std::vector<ResolvedNode>> graphs_;
};

}  // namespace onnxkit::spec
