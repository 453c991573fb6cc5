#include "checker/infer/cost.h"
#include "libonnxkit/ir/scope.h"

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {
namespace {

class NodeCost {
 public:
  NodeCost(const ir::Node& node, const GraphInfo& info, DimPool& dims) : node_(node), info_(info), dims_(dims) {}

  Dim of_contraction() {
    const std::string_view op = node_.op_type;
    if (op == "Conv" || op == "ConvInteger" || op == "FusedConv") return convolution(1);
    if (op == "QLinearConv") return convolution(3);
    if (op == "ConvTranspose") return transposed();
    if (op == "MatMul" || op == "MatMulInteger" || op == "FusedMatMul") return times(output(0), back(input(0), 0));
    if (op == "QLinearMatMul") return times(output(0), back(input(0), 0));
    if (op == "Gemm" || op == "FusedGemm") return gemm();
    if (op == "LSTM" || op == "GRU" || op == "RNN") return recurrent();
    return 0;
  }

 private:
  const Shape* shape(ir::ValueId id) const {
    if (id == ir::ValueId::none) return nullptr;
    const Type& type = info_.values[ir::index_of(id)].type;
    return type.shape ? &*type.shape : nullptr;
  }
  const Shape* input(std::size_t i) const { return i < node_.inputs.size() ? shape(node_.inputs[i]) : nullptr; }
  const Shape* output(std::size_t i) const { return i < node_.outputs.size() ? shape(node_.outputs[i]) : nullptr; }

  static Dim at(const Shape* shape, std::size_t axis) { return shape && axis < shape->size() ? (*shape)[axis] : Dim(); }
  static Dim back(const Shape* shape, std::size_t from_end) {
    return shape && from_end < shape->size() ? (*shape)[shape->size() - 1 - from_end] : Dim();
  }

  Dim elements(const Shape* shape, std::size_t from = 0) {
    if (!shape) return {};
    Dim total = 1;
    for (std::size_t i = from; i < shape->size(); ++i) total = dims_.mul(total, (*shape)[i]);
    return total;
  }
  Dim times(const Shape* shape, Dim factor) { return dims_.mul(elements(shape), factor); }

  Dim convolution(std::size_t weight) { return times(output(0), elements(input(weight), 1)); }
  Dim transposed() { return times(input(0), elements(input(1), 1)); }

  Dim gemm() {
    const ir::Attribute* trans = node_.find_attribute("transA");
    const auto* flag = trans ? trans->as<std::int64_t>() : nullptr;
    return times(output(0), at(input(0), flag && *flag != 0 ? 0 : 1));
  }

  /// X is [steps, batch, features]; W is [directions, gates * hidden, features], R [directions, gates * hidden, hidden].
  Dim recurrent() {
    const Dim cells = dims_.mul(at(input(0), 0), at(input(0), 1));
    const Dim weights = dims_.add(elements(input(1)), elements(input(2)));
    return dims_.mul(cells, weights);
  }

  const ir::Node& node_;
  const GraphInfo& info_;
  DimPool& dims_;
};

/// Bytes of a value's elements; packed types round up only as a whole, which is left out here.
Dim bytes_of(const Type& type, DimPool& dims) {
  if (!type.is_tensor() || !type.shape || type.elem == ElementType::undefined || type.elem == ElementType::string)
    return {};
  Dim bits = storage_bits(type.elem);
  for (const Dim size : *type.shape) bits = dims.mul(bits, size);
  return dims.ceil_div(bits, 8);
}

}  // namespace

Dim multiply_adds(const ir::Graph&, const ir::Node& node, const GraphInfo& info, DimPool& dims) {
  const std::string_view domain = ir::canonical_domain(node.domain);
  if (!domain.empty() && domain != "com.microsoft") return 0;
  return NodeCost(node, info, dims).of_contraction();
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
