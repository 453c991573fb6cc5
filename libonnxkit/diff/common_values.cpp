#include "libonnxkit/diff/common_values.h"

#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::diffing {

using ir::index_of;
using ir::ValueId;

namespace {

std::vector<bool> nodes_with(const ir::Model& model, bool checker::InferTraits::*trait) {
  const spec::OpTable table;
  std::vector<bool> found;
  for (const ir::Node& node : model.graph->nodes) {
    found.push_back(checker::traits_of(node, model.opset_imports, table).*trait);
  }
  return found;
}

}  // namespace

std::vector<bool> constant_nodes(const ir::Model& model) {
  std::vector<bool> found = nodes_with(model, &checker::InferTraits::is_constant);
  const ir::InitializerTable stored(*model.graph);
  const std::vector<ir::ValueInfo>& inputs = model.graph->inputs;
  for (std::size_t at = 0; at < found.size(); ++at) {
    const ir::Node& node = model.graph->nodes[at];
    if (node.op_type != "Cast" || !ir::canonical_domain(node.domain).empty() || node.inputs.size() != 1) continue;
    const ValueId weight = node.inputs[0];
    const bool is_given =
        std::any_of(inputs.begin(), inputs.end(), [&](const ir::ValueInfo& input) { return input.value == weight; });
    found[at] = found[at] || (stored.contains(weight) && !is_given);
  }
  return found;
}

CommonValues::CommonValues(const ir::Model& model, const ir::Model& other)
    : graph_(*model.graph),
      reads_sizes_only_(nodes_with(model, &checker::InferTraits::reads_sizes_only)),
      uses_(graph_),
      order_(ir::evaluation_order(graph_, uses_.producers())) {
  const std::vector<std::int32_t> producers = ir::producers(*other.graph);
  const std::vector<bool> is_constant = constant_nodes(model), is_constant_there = constant_nodes(other);
  for (const std::size_t node : order_) {
    for (const ValueId id : graph_.nodes[node].outputs) {
      const ValueId there = id == ValueId::none ? id : other.graph->find(graph_.name_of(id));
      const std::int32_t producer = there == ValueId::none ? -1 : producers[index_of(there)];
      if (producer < 0) continue;
      if (is_constant[node] && is_constant_there[static_cast<std::size_t>(producer)]) continue;
      if (indices_.emplace(graph_.name_of(id), names_.size()).second) names_.emplace_back(graph_.name_of(id));
    }
  }
}

std::optional<std::size_t> CommonValues::find(std::string_view name) const {
  const auto found = indices_.find(name);
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<bool> CommonValues::ancestors(std::size_t index, Through through) const {
  std::vector<bool> found(size(), false), seen(graph_.values.size(), false);
  std::vector<std::size_t> open;  // nodes
  const auto visit = [&](ValueId id) {
    if (const std::int32_t node = uses_.producer(id); node >= 0) open.push_back(static_cast<std::size_t>(node));
  };
  visit(graph_.find(name(index)));
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (through == Through::data && reads_sizes_only_[node]) continue;
    for (const ValueId id : uses_.reads(node)) {
      if (seen[index_of(id)]) continue;
      seen[index_of(id)] = true;
      if (const auto at = find(graph_.name_of(id))) found[*at] = true;
      visit(id);
    }
  }
  return found;
}

bool CommonValues::reaches_output(std::size_t index, const std::vector<bool>& compared) const {
  std::vector<bool> made(graph_.values.size(), false);
  made[index_of(graph_.find(name(index)))] = true;
  if (!uses_.is_used(graph_.find(name(index))) || uses_.is_output(graph_.find(name(index)))) return true;
  for (const std::size_t node : order_) {
    const std::span<const ValueId> reads = uses_.reads(node);
    if (std::none_of(reads.begin(), reads.end(), [&](ValueId id) { return made[index_of(id)]; })) continue;
    for (const ValueId id : graph_.nodes[node].outputs) {
      const auto at = id == ValueId::none ? std::nullopt : find(graph_.name_of(id));
      if (id == ValueId::none || (at && compared[*at])) continue;
      if (uses_.is_output(id)) return true;
      made[index_of(id)] = true;
    }
  }
  return false;
}

std::vector<bool> CommonValues::descendants(std::size_t index) const {
  std::vector<bool> found(size(), false), made(graph_.values.size(), false);
  made[index_of(graph_.find(name(index)))] = true;
  for (const std::size_t node : order_) {
    const std::span<const ValueId> reads = uses_.reads(node);
    if (std::none_of(reads.begin(), reads.end(), [&](ValueId id) { return made[index_of(id)]; })) continue;
    for (const ValueId id : graph_.nodes[node].outputs) {
      if (id == ValueId::none) continue;
      made[index_of(id)] = true;
      if (const auto at = find(graph_.name_of(id))) found[*at] = true;
    }
  }
  return found;
}

}  // namespace onnxkit::diffing
