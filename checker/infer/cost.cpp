#include "checker/infer/cost.h"

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::checker {
namespace {

Dim at(const Shape* shape, std::size_t axis) { return shape && axis < shape->size() ? (*shape)[axis] : Dim(); }

Dim convolved(const NodeShapes& node, std::size_t weight) {
  return node.dims().mul(node.elements(node.output(0)), node.elements(node.input(weight), 1));
}

/// Bytes of a value's elements; packed types round up only as a whole, which is left out here.
Dim bytes_of(const Type& type, DimPool& dims) {
  if (!type.is_tensor() || !type.shape || type.elem == ElementType::undefined || type.elem == ElementType::string)
    return {};
  Dim bits = storage_bits(type.elem);
  for (const Dim size : *type.shape) bits = dims.mul(bits, size);
  return dims.ceil_div(bits, 8);
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

namespace cost {

Dim convolution(const NodeShapes& node) { return convolved(node, 1); }

Dim quantized_convolution(const NodeShapes& node) { return convolved(node, 3); }

Dim transposed_convolution(const NodeShapes& node) {
  return node.dims().mul(node.elements(node.input(0)), node.elements(node.input(1), 1));
}

Dim matmul(const NodeShapes& node) {
  const Shape* a = node.input(0);
  return node.dims().mul(node.elements(node.output(0)), a && !a->empty() ? a->back() : Dim());
}

Dim gemm(const NodeShapes& node) {
  const ir::Attribute* trans = node.node().find_attribute("transA");
  const auto* flag = trans ? trans->as<std::int64_t>() : nullptr;
  return node.dims().mul(node.elements(node.output(0)), at(node.input(0), flag && *flag != 0 ? 0 : 1));
}

/// X is [steps, batch, features]; W is [directions, gates * hidden, features], R [directions, gates * hidden, hidden].
Dim recurrent(const NodeShapes& node) {
  const Dim cells = node.dims().mul(at(node.input(0), 0), at(node.input(0), 1));
  const Dim weights = node.dims().add(node.elements(node.input(1)), node.elements(node.input(2)));
  return node.dims().mul(cells, weights);
}

}  // namespace cost

Dim multiply_adds(const InferTraits& traits, const ir::Node& node, const GraphInfo& info, DimPool& dims) {
  return traits.cost ? traits.cost(NodeShapes(node, info, dims)) : Dim(0);
}

Dim activation_peak(const ir::Graph& graph, const GraphInfo& info, DimPool& dims) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> last_use(graph.values.size(), 0);
  for (std::size_t n = 0; n < count; ++n) {
    for (const ir::ValueId id : graph.nodes[n].inputs) {
      if (id != ir::ValueId::none) last_use[ir::index_of(id)] = n;
    }
    for (const ir::ValueId id : ir::captured_values(graph, graph.nodes[n])) last_use[ir::index_of(id)] = n;
  }
  for (const ir::ValueInfo& output : graph.outputs) {
    if (output.value != ir::ValueId::none) last_use[ir::index_of(output.value)] = count;
  }
  std::vector<std::vector<ir::ValueId>> dying(count + 1);
  Dim alive = 0, peak = 0;
  const auto born = [&](ir::ValueId id) {
    alive = dims.add(alive, bytes_of(info.values[ir::index_of(id)].type, dims));
    dying[last_use[ir::index_of(id)]].push_back(id);
  };
  const ir::InitializerTable weights(graph);
  for (const ir::ValueInfo& input : graph.inputs) {
    if (input.value != ir::ValueId::none && !weights.find(input.value)) born(input.value);
  }
  for (std::size_t n = 0; n < count; ++n) {
    for (const ir::ValueId id : graph.nodes[n].outputs) {
      if (id == ir::ValueId::none) continue;
      if (last_use[ir::index_of(id)] < n) last_use[ir::index_of(id)] = n;
      born(id);
    }
    if (alive.is_unknown()) return {};
    peak = dims.always_at_least(peak, alive) ? peak : dims.always_at_least(alive, peak) ? alive : dims.max(peak, alive);
    for (const ir::ValueId id : dying[n]) alive = dims.sub(alive, bytes_of(info.values[ir::index_of(id)].type, dims));
  }
  return peak;
}

}  // namespace onnxkit::checker
