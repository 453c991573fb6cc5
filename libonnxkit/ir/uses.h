#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"

// Side tables of one graph, made in one pass and indexed by ValueId: what stores a value, which node writes it, which nodes read
// it. They view the graph and hold for as long as it does not change. Const tables may be read from several threads.
namespace onnxkit::ir {

/// The initializers of a graph by value. Of several with one name the last counts.
class InitializerTable {
 public:
  InitializerTable() = default;
  explicit InitializerTable(const Graph& graph);

  /// Null when the value is no (dense) initializer.
  const Tensor* find(ValueId id) const {
    const std::int32_t at = index_in(dense_, id);
    return at < 0 ? nullptr : &graph_->initializers[static_cast<std::size_t>(at)];
  }
  const SparseTensor* find_sparse(ValueId id) const {
    const std::int32_t at = index_in(sparse_, id);
    return at < 0 ? nullptr : &graph_->sparse_initializers[static_cast<std::size_t>(at)];
  }
  /// Dense or sparse.
  bool contains(ValueId id) const { return index_in(dense_, id) >= 0 || index_in(sparse_, id) >= 0; }

 private:
  static std::int32_t index_in(const std::vector<std::int32_t>& table, ValueId id) {
    return index_of(id) < table.size() ? table[index_of(id)] : -1;
  }

  const Graph* graph_ = nullptr;
  std::vector<std::int32_t> dense_, sparse_;  ///< by ValueId, -1 for no initializer; empty when there is none at all
};

/// Producers and consumers of a graph's values. What a subgraph of a node captures counts as read by that node.
class Uses {
 public:
  explicit Uses(const Graph& graph);

  /// The first node that writes the value; -1 when none does.
  std::int32_t producer(ValueId id) const { return id == ValueId::none ? -1 : producer_[index_of(id)]; }
  const std::vector<std::int32_t>& producers() const { return producer_; }
  /// The nodes that read the value, ascending, each once.
  std::span<const std::uint32_t> consumers(ValueId id) const;
  /// What a node reads: its inputs but the omitted ones, then what its subgraphs capture. A value may come twice.
  std::span<const ValueId> reads(std::size_t node) const;
  /// An output of the graph.
  bool is_output(ValueId id) const { return id != ValueId::none && is_output_[index_of(id)]; }
  /// Read by a node or an output of the graph.
  bool is_used(ValueId id) const { return is_output(id) || !consumers(id).empty(); }
  const InitializerTable& initializers() const { return initializers_; }

 private:
  std::vector<std::int32_t> producer_;
  std::vector<bool> is_output_;
  std::vector<std::uint32_t> consumer_begin_, consumers_;  ///< those of value i lie from begin[i] to begin[i + 1]
  std::vector<std::uint32_t> read_begin_;                  ///< the same for nodes
  std::vector<ValueId> reads_;
  InitializerTable initializers_;
};

}  // namespace onnxkit::ir
