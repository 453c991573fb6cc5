#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/infer/inference.h"
#include "converters/layout/layouts.h"
#include "converters/layout/rules.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::layout {

/// The Transposes of one graph: what they are made of, which orders the nodes get, and the graph written anew.
class GraphLayout {
 public:
  GraphLayout(ir::Model& model, ir::Graph& graph, const checker::InferredModel& inferred, const Rules& rules,
              std::int64_t opset, ir::FreshNames& names);

  /// Changes the graph if it has fewer Transposes then. Returns how many fewer.
  std::size_t reduce();

 private:
  /// A value as another one whose axes are in some order.
  struct Alias {
    ir::ValueId root = ir::ValueId::none;
    Permutation order;  ///< empty when the rank is unknown: the root is the value itself
  };
  struct FlexibleNode {
    const Rule* rule = nullptr;
    Frame frame;
    std::size_t index = 0;  ///< in the problem
  };
  struct Written {
    ir::ValueId id = ir::ValueId::none;
    Permutation layout;
  };
  class Editor;

  // ---- what there is
  void find_aliases();
  bool is_removable_transpose(const ir::Node& node) const;
  void find_flexible_nodes();
  LayoutProblem problem();
  void add_fixed_reader(LayoutProblem& problem, ir::ValueId id);
  std::size_t value_of(LayoutProblem& problem, ir::ValueId root);
  bool is_free(ir::ValueId root) const;
  std::optional<std::size_t> rank_of(ir::ValueId id) const;
  bool flattens(const ir::Node& node) const;
  std::optional<std::size_t> rank_of_transposed(const ir::Node& node) const;

  // ---- the graph written anew
  void write(const std::vector<Permutation>& orders);
  void write_node(std::size_t n);
  void write_flexible(std::size_t n, const FlexibleNode& flexible);
  ir::ValueId read(ir::ValueId id, const Permutation& layout_of_value);
  ir::ValueId materialized(ir::ValueId root, const Permutation& layout);
  ir::ValueId stored_copy(ir::ValueId root, const Permutation& layout);
  ir::ValueId broadcast_read(ir::ValueId id, const Port& port, const Permutation& order);
  void note_written(ir::ValueId root, ir::ValueId id, const Permutation& layout);
  void keep_name(ir::ValueId id);
  ir::ValueId new_value(std::string_view stem);
  ir::Node transpose_of(ir::ValueId from, const Permutation& order, ir::ValueId to);
  void drop_unused(const std::unordered_set<ir::ValueId>& read_before);
  std::unordered_set<ir::ValueId> read_values() const;
  void store(ir::ValueId id, ir::Tensor tensor);

  ir::Model& model_;
  ir::Graph& graph_;
  const checker::InferredModel& inferred_;
  const Rules& rules_;
  std::int64_t opset_;
  ir::FreshNames& names_;
  std::vector<std::size_t> order_;         ///< of the nodes
  std::vector<Alias> aliases_;             ///< by value
  std::vector<const ir::Tensor*> stored_;  ///< by value: initializers that can be permuted
  std::unordered_set<ir::ValueId> kept_;   ///< values whose names are asked for: outputs, and what bodies read
  std::unordered_map<std::size_t, FlexibleNode> flexible_;  ///< by node
  std::unordered_map<ir::ValueId, std::size_t> value_index_;
  std::vector<Permutation> orders_;
  std::vector<ir::Node> nodes_;
  std::vector<ir::Tensor> new_initializers_;
  std::unordered_map<ir::ValueId, std::size_t> made_;  ///< where they are, by value
  std::map<std::pair<ir::ValueId, Permutation>, ir::ValueId>
      names_of_aliases_;  ///< names that Transposes of a root may take
  std::unordered_set<ir::ValueId> names_taken_;
  std::unordered_map<ir::ValueId, Written> written_;  ///< by root, what its producer writes
  std::map<std::pair<ir::ValueId, Permutation>, ir::ValueId> copies_;
  std::map<std::vector<std::int64_t>, ir::ValueId> constants_;
  std::unordered_set<ir::ValueId> changed_;  ///< values whose declared types no longer hold
};

}  // namespace onnxkit::layout
