#pragma once

#include <map>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::plan {

/// Whether nodes of a model's main graph draw random numbers, by their schemas: themselves, in their graphs, or in functions that they call. The model
/// and the table must outlive it.
class Draws {
 public:
  Draws(const ir::Model& model, const spec::OpTable& table);

  bool operator()(const ir::Node& node) const { return node_draws(node, model_.opset_imports); }

 private:
  using Imports = std::vector<ir::OpsetImport>;

  bool node_draws(const ir::Node& node, const Imports& imports) const;
  bool graph_draws(const ir::Graph& graph, const Imports& imports) const;
  bool function_draws(const ir::Function& function) const;

  const ir::Model& model_;
  const spec::OpTable& table_;
  spec::FunctionIndex functions_;
  mutable std::map<const ir::Function*, bool> known_;  ///< of functions that were asked for
};

}  // namespace onnxkit::plan
