#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checker/infer/constant.h"
#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::opset {

using ir::ValueId;

/// One graph under conversion and the graphs around it.
struct Scope {
  ir::Graph* graph = nullptr;
  const Scope* parent = nullptr;  ///< the graph whose node holds this one; null for outermost graphs
  std::vector<std::string> path;  ///< as of ir::GraphScope
};

/// What is known of values while a model is converted. Inference runs when somebody asks, and again only for values that conversion made since:
/// what was once known of a value stays true, as no step changes the meaning of one.
class InferredValues {
 public:
  InferredValues(const ir::Model& model, const spec::OpTable& table, ir::ExternalBytes external);

  const spec::OpTable& table() const { return table_; }
  /// Null when nothing is known. Sizes beyond 2^32 are unknown ones.
  const checker::Type* type(const Scope& scope, ValueId id) { return type(scope, id, true); }
  /// The same without inferring anew for values that conversion made.
  const checker::Type* known_type(const Scope& scope, ValueId id) { return type(scope, id, generations_.empty()); }
  /// Whose symbolic sizes the type of the value has: those of two origins cannot be compared. Null for constants and unknown values.
  const void* size_origin(const Scope& scope, ValueId id);
  /// Content of a small numeric tensor that no caller can change, all elements constant.
  std::optional<checker::Constant> constant(const Scope& scope, ValueId id);
  /// The stored tensor that a value is: an initializer that no caller can replace, or the `value` of a Constant node. Null for others.
  const ir::Tensor* stored(const Scope& scope, ValueId id);

  /// A node, a body or the graph's outputs read the value.
  bool is_used(const ir::Graph& graph, ValueId id);

  /// Since the last call, something was asked of a value that conversion made and whose shape inference does not know.
  bool take_missed() { return std::exchange(missed_, false); }

  /// Nodes will change: what is to be known of them as they are is found now.
  void model_changes() {
    if (generations_.empty()) infer();
  }
  /// Nodes have changed since the last question.
  void model_changed();

 private:
  const checker::Type* type(const Scope& scope, ValueId id, bool may_infer);
  checker::ValueInfo* known(const ir::Graph& graph, ValueId id, bool may_infer);
  bool is_made(const ir::Graph& graph, ValueId id) const;
  checker::ValueInfo* look_up(const ir::Graph& graph, ValueId id) const;
  const ir::Tensor* stored_in(const Scope& scope, ValueId id);
  const ir::Uses& uses_of(const ir::Graph& graph);
  bool is_replaceable(const ir::Graph& graph, ValueId id) const;
  void infer();

  const ir::Model& model_;
  const spec::OpTable& table_;
  const ir::ExternalBytes external_;
  std::vector<std::unique_ptr<checker::InferredModel>> generations_;
  bool is_current_ = false;
  bool missed_ = false;
  std::unordered_map<const ir::Graph*, ir::Uses> uses_;
  std::unordered_map<const ir::Tensor*, checker::Type> stored_types_;
};

}  // namespace onnxkit::opset
