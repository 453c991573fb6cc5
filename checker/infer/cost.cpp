#include "checker/infer/cost.h"

#include <algorithm>

#include "libonnxkit/ir/uses.h"

namespace onnxkit::checker {
namespace {

/// Position of the node that uses a value last; outputs of the graph are used by its end.
std::size_t last_use(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId id) {
  if (uses.is_output(id)) return graph.nodes.size();
  const auto consumers = uses.consumers(id);
  return consumers.empty() ? 0 : consumers.back();
}

/// More say nothing to a reader, and each further sum is compared with all.
constexpr std::size_t most_amounts = 32;

/// Adds an amount to those of which none is always at least another.
void keep_greatest(std::vector<Dim>& amounts, Dim amount, DimPool& dims) {
  const auto covers = [&dims](Dim a, Dim b) { return a == b || dims.at_least_unless_empty(a, b); };
  if (std::any_of(amounts.begin(), amounts.end(), [&](Dim other) { return covers(other, amount); })) return;
  std::erase_if(amounts, [&](Dim other) { return covers(amount, other); });
  amounts.push_back(amount);
}

}  // namespace

const Shape* NodeShapes::shape(ir::ValueId id) const {
  if (id == ir::ValueId::none) return nullptr;
  const Type& type = info_.values[ir::index_of(id)].type;
  return type.shape ? &*type.shape : nullptr;
}

Dim NodeShapes::elements(const Shape* shape, std::size_t from) const {
  if (!shape) return {};
  Dim total = 1;
  for (std::size_t i = from; i < shape->size(); ++i) total = dims_.mul(total, (*shape)[i]);
  return total;
}

Dim multiply_adds(const InferTraits& traits, const ir::Node& node, const GraphInfo& info, DimPool& dims) {
  return traits.cost ? traits.cost(NodeShapes(node, info, dims)) : Dim(0);
}

Dim value_bytes(const Type& type, DimPool& dims) {
  if (!type.is_tensor() || !type.shape || type.elem == ElementType::undefined || type.elem == ElementType::string)
    return {};
  Dim bits = storage_bits(type.elem);
  for (const Dim size : *type.shape) bits = dims.mul(bits, size);
  return dims.ceil_div(bits, 8);
}

ActivationPeak activation_peak(const ir::Graph& graph, const GraphInfo& info, DimPool& dims) {
  const std::size_t count = graph.nodes.size();
  const ir::Uses uses(graph);
  std::vector<std::vector<Dim>> dying(count + 1);
  ActivationPeak peak;
  Dim alive = 0;
  const auto born = [&](ir::ValueId id, std::size_t at) {
    const Dim bytes = value_bytes(info.values[ir::index_of(id)].type, dims);
    if (bytes.is_unknown() || dims.has_origin(bytes, ir::SymbolOrigin::lost)) peak.unknown = id;
    alive = dims.add(alive, bytes);
    dying[std::max(last_use(graph, uses, id), at)].push_back(bytes);
    return peak.unknown == ir::ValueId::none && !alive.is_unknown();
  };
  for (const ir::ValueInfo& input : graph.inputs) {
    if (input.value != ir::ValueId::none && !uses.initializers().find(input.value) && !born(input.value, 0))
      return {.amounts = {}, .unknown = peak.unknown};
  }
  keep_greatest(peak.amounts, alive, dims);
  for (std::size_t n = 0; n < count; ++n) {
    for (const ir::ValueId id : graph.nodes[n].outputs) {
      if (id != ir::ValueId::none && !born(id, n)) return {.amounts = {}, .unknown = peak.unknown};
    }
    keep_greatest(peak.amounts, alive, dims);
    if (peak.amounts.size() > most_amounts) return {};
    for (const Dim bytes : dying[n]) alive = dims.sub(alive, bytes);
  }
  return peak;
}

}  // namespace onnxkit::checker
