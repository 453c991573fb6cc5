#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/inference.h"

namespace onnxkit::checker {

/// Inference of a model while it is being built, so that who builds it can ask for the types and the contents of what is there
/// already. Graphs are opened before their nodes come; nodes come in an order in which they can be evaluated.
class GrowingInference {
 public:
  /// `model` has its imports and its main graph, still empty; both stay where they are.
  GrowingInference(const ir::Model& model, const spec::OpTable& table);

  /// Takes in a graph that will become an attribute of a node of `outer`, null for the main graph. Declared types of its inputs are read
  /// now.
  void open(const ir::Graph& graph, const ir::Graph* outer);
  /// Infers what was added to an open graph since: values, initializers, nodes.
  void advance(const ir::Graph& graph);
  /// Forgets a graph that is complete, which may then move into the attribute of a node.
  void close(const ir::Graph& graph) { frames_.erase(&graph); }

  /// A value that no node writes gets a type.
  void assume(const ir::Graph& graph, ir::ValueId id, Type type) {
    frames_.at(&graph)->info->values[ir::index_of(id)].type = std::move(type);
  }

  /// Of a value that an open graph mentions, its own or one of an outer graph.
  const Type& type(const ir::Graph& graph, ir::ValueId id);
  /// Null when the content is not known at all.
  const Constant* content(const ir::Graph& graph, ir::ValueId id);

  DimPool& dims() { return inference_.result_.dims; }
  /// What is wrong with nodes that were added.
  const std::vector<Diagnostic>& findings() const { return collector_.diagnostics(); }

 private:
  const ir::Model& model_;
  spec::Resolution resolution_;
  InferenceOptions options_;
  Collector collector_;
  Inference inference_;
  std::unordered_map<const ir::Graph*, std::unique_ptr<Frame>> frames_;
};

}  // namespace onnxkit::checker
