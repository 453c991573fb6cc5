#include "libonnxkit/ir/uses.h"

#include <algorithm>

#include "libonnxkit/ir/order.h"

namespace onnxkit::ir {

InitializerTable::InitializerTable(const Graph& graph) : graph_(&graph) {
  const auto enter = [&graph](std::vector<std::int32_t>& table, std::string_view name, std::size_t at) {
    const ValueId id = graph.find(name);
    if (id == ValueId::none) return;
    if (table.empty()) table.assign(graph.values.size(), -1);
    table[index_of(id)] = static_cast<std::int32_t>(at);
  };
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) enter(dense_, graph.initializers[i].name, i);
  for (std::size_t i = 0; i < graph.sparse_initializers.size(); ++i) {
    if (const auto& values = graph.sparse_initializers[i].values) enter(sparse_, values->name, i);
  }
}

Uses::Uses(const Graph& graph)
    : producer_(ir::producers(graph)),
      is_output_(graph.values.size(), false),
      consumer_begin_(graph.values.size() + 1, 0),
      initializers_(graph) {
  for (const ValueInfo& output : graph.outputs) {
    if (output.value != ValueId::none) is_output_[index_of(output.value)] = true;
  }
  for (const Node& node : graph.nodes) {
    read_begin_.push_back(static_cast<std::uint32_t>(reads_.size()));
    std::copy_if(node.inputs.begin(), node.inputs.end(), std::back_inserter(reads_),
                 [](ValueId id) { return id != ValueId::none; });
    const std::vector<ValueId> captured = captured_values(graph, node);
    reads_.insert(reads_.end(), captured.begin(), captured.end());
  }
  read_begin_.push_back(static_cast<std::uint32_t>(reads_.size()));

  // Counted first, so that each value's consumers lie together; `last` leaves out repetitions within a node.
  std::vector<std::uint32_t> last(graph.values.size(), 0xffffffff);
  const auto each_consumer = [&](auto&& visit) {
    std::fill(last.begin(), last.end(), 0xffffffff);
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
      for (const ValueId id : reads(node)) {
        if (std::exchange(last[index_of(id)], node) != node) visit(index_of(id), node);
      }
    }
  };
  each_consumer([&](std::size_t value, std::uint32_t) { ++consumer_begin_[value + 1]; });
  for (std::size_t i = 1; i < consumer_begin_.size(); ++i) consumer_begin_[i] += consumer_begin_[i - 1];
  consumers_.resize(consumer_begin_.back());
  std::vector<std::uint32_t> next(consumer_begin_.begin(), consumer_begin_.end() - 1);
  each_consumer([&](std::size_t value, std::uint32_t node) { consumers_[next[value]++] = node; });
}

std::span<const std::uint32_t> Uses::consumers(ValueId id) const {
  if (id == ValueId::none) return {};
  const std::uint32_t begin = consumer_begin_[index_of(id)];
  return std::span(consumers_).subspan(begin, consumer_begin_[index_of(id) + 1] - begin);
}

std::span<const ValueId> Uses::reads(std::size_t node) const {
  return std::span(reads_).subspan(read_begin_[node], read_begin_[node + 1] - read_begin_[node]);
}

}  // namespace onnxkit::ir
