#include "converters/formats/tflite/fuse.h"

#include <algorithm>
#include <unordered_map>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

constexpr std::string_view with_activation[] = {
    "ADD", "SUB", "MUL", "DIV", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D", "AVERAGE_POOL_2D"};

/// The number of an activation as an option; 0 when it is none.
std::int64_t activation_number(std::string_view op) {
  return op == "RELU" ? 1 : op == "RELU_N1_TO_1" ? 2 : op == "RELU6" ? 3 : 0;
}

/// Whether a node computes an activation of its result: of real numbers, or of integers that stand for the same before and behind it.
bool can_fuse(const Graph& graph, const Node& node, const Node& activation) {
  if (std::find(std::begin(with_activation), std::end(with_activation), node.op) == std::end(with_activation) ||
      node.find("fused_activation_function"))
    return false;
  const foreign::Value &before = graph.values[index_of(node.outputs[0])],
                       &behind = graph.values[index_of(activation.outputs[0])];
  if (!before.type || !behind.type || before.type->elem != behind.type->elem) return false;
  return before.type->elem == ElementType::float32 ||
         (before.type->elem == ElementType::int8 && before.quantization && before.quantization == behind.quantization);
}

}  // namespace

std::vector<std::size_t> count_reads(const Graph& graph) {
  std::vector<std::size_t> reads(graph.values.size(), 0);
  const auto read = [&](const Argument& argument) {
    if (const auto* id = argument.as<ValueId>(); id && *id != ValueId::none) ++reads[index_of(*id)];
  };
  for (const Node& node : graph.nodes)
    for (const Argument& argument : node.arguments) {
      read(argument);
      if (const auto* list = argument.as<Argument::List>())
        for (const Argument& item : *list) read(item);
    }
  for (const foreign::Output& output : graph.outputs) ++reads[index_of(output.value)];
  return reads;
}

namespace {

/// What computes values of a graph, and what is stored of them.
class Producers {
 public:
  explicit Producers(Graph& graph) : reads(count_reads(graph)), graph_(graph), nodes_(graph.values.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      for (const ValueId output : graph.nodes[n].outputs)
        if (output != ValueId::none) nodes_[index_of(output)] = static_cast<std::int64_t>(n);
    for (foreign::Tensor& tensor : graph.tensors) stored_.emplace(index_of(tensor.value), &tensor);
  }

  /// The node of that operator that computes an argument, and of which nothing else reads the result.
  Node* only(const Argument& argument, std::string_view op) const {
    const auto* id = argument.as<ValueId>();
    if (!id || *id == ValueId::none || reads[index_of(*id)] != 1 || nodes_[index_of(*id)] < 0) return nullptr;
    Node& node = graph_.nodes[static_cast<std::size_t>(nodes_[index_of(*id)])];
    return node.op == op ? &node : nullptr;
  }
  foreign::Tensor* stored(const Argument& argument) const {
    const auto* id = argument.as<ValueId>();
    const auto found = id && *id != ValueId::none ? stored_.find(index_of(*id)) : stored_.end();
    return found == stored_.end() ? nullptr : found->second;
  }
  std::vector<std::int64_t> sizes(ValueId id) const {
    std::vector<std::int64_t> found;
    if (const auto& type = graph_.values[index_of(id)].type; type && type->shape)
      for (const foreign::Size& size : *type->shape) found.push_back(size.constant);
    return found;
  }

  const std::vector<std::size_t> reads;

 private:
  Graph& graph_;
  std::vector<std::int64_t> nodes_;
  std::unordered_map<std::size_t, foreign::Tensor*> stored_;
};

std::vector<std::int64_t> int32_elements(const foreign::Tensor& tensor) {
  std::vector<std::int64_t> values(tensor.elem == ElementType::int32 ? tensor.bytes.size() / sizeof(std::int32_t) : 0);
  if (!values.empty()) decode(tensor.elem, tensor.bytes, std::span(values));
  return values;
}

/// Weights [rows, columns] of which the columns are those of images of these sizes, whose axes change their order. The tensor says how it lies.
void reorder_columns(foreign::Tensor& weights, const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& order) {
  const bool is_moved = !weights.order.empty();  // stored as [columns, rows]
  const auto axes = static_cast<std::int64_t>(sizes.size());
  weights.stored_dims = sizes;
  weights.stored_dims.insert(is_moved ? weights.stored_dims.end() : weights.stored_dims.begin(), weights.dims[0]);
  weights.order = {is_moved ? axes : 0};
  for (const std::int64_t axis : order) weights.order.push_back(is_moved ? axis : axis + 1);
}

}  // namespace

void flatten_as_they_lie(Graph& graph) {
  const Producers producers(graph);
  for (Node& layer : graph.nodes) {
    if (layer.op != "FULLY_CONNECTED") continue;
    Node* reshape = producers.only(layer.arguments[0], "RESHAPE");
    Node* transpose = reshape ? producers.only(reshape->arguments[0], "TRANSPOSE") : nullptr;
    if (!transpose) continue;
    const Node* dequantize = producers.only(layer.arguments[1], "DEQUANTIZE");
    const Argument& given = dequantize ? dequantize->arguments[0] : layer.arguments[1];
    foreign::Tensor* weights = producers.stored(given);
    const foreign::Tensor* permutation = producers.stored(transpose->arguments[1]);
    const auto order = permutation ? int32_elements(*permutation) : std::vector<std::int64_t>();
    const auto images = producers.sizes(transpose->outputs[0]), rows = producers.sizes(reshape->outputs[0]);
    if (!weights || weights->dims.size() != 2 || storage_bits(weights->elem) < 8 || order.size() < 3 ||
        images.size() != order.size() || order[0] != 0 || rows.size() != 2 ||
        producers.reads[index_of(weights->value)] != 1 || (!weights->order.empty() && weights->order.size() != 2))
      continue;
    const std::vector<std::int64_t> sizes(images.begin() + 1, images.end());
    std::int64_t columns = 1;
    bool is_known = true;
    for (const std::int64_t size : sizes) {
      is_known = is_known && size > 0 && columns <= weights->dims[1] / size;
      if (is_known) columns *= size;
    }
    if (!is_known || columns != weights->dims[1] || rows[1] != columns) continue;
    // The weights' columns follow the axes of what is not transposed any more.
    std::vector<std::int64_t> places(sizes.size());
    for (std::size_t axis = 1; axis < order.size(); ++axis)
      places[static_cast<std::size_t>(order[axis] - 1)] = static_cast<std::int64_t>(axis - 1);
    reorder_columns(*weights, sizes, places);
    reshape->arguments[0].content = *transpose->arguments[0].as<ValueId>();
  }
}

void fuse_biases(Graph& graph) {
  const std::vector<std::size_t> reads = count_reads(graph);
  std::vector<std::int64_t> producer(graph.values.size(), -1);
  std::vector<const foreign::Tensor*> stored(graph.values.size(), nullptr);
  for (const foreign::Tensor& tensor : graph.tensors) stored[index_of(tensor.value)] = &tensor;
  std::vector<bool> is_gone(graph.nodes.size(), false);
  const auto fused = [&](const Node& node, std::size_t product, std::size_t vector) -> Node* {
    const auto *x = node.arguments[product].as<ValueId>(), *bias = node.arguments[vector].as<ValueId>();
    const foreign::Tensor* tensor = bias ? stored[index_of(*bias)] : nullptr;
    const std::int64_t by = x ? producer[index_of(*x)] : -1;
    if (by < 0 || !tensor || tensor->dims.size() != 1 || reads[index_of(*x)] != 1) return nullptr;
    Node& layer = graph.nodes[static_cast<std::size_t>(by)];
    if (layer.op != "FULLY_CONNECTED" || !layer.arguments[2].is_none()) return nullptr;
    const auto& type = graph.values[index_of(*x)].type;
    return type && type->shape && !type->shape->empty() && type->shape->back().constant == tensor->dims[0] ? &layer
                                                                                                           : nullptr;
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    for (const std::size_t product : {std::size_t{0}, std::size_t{1}}) {
      Node* layer = node.op == "ADD" && !is_gone[n] ? fused(node, product, 1 - product) : nullptr;
      if (!layer) continue;
      layer->arguments[2].content = *node.arguments[1 - product].as<ValueId>();
      layer->outputs = node.outputs;
      is_gone[n] = true;
    }
    for (const ValueId output : node.outputs)
      if (output != ValueId::none && !is_gone[n]) producer[index_of(output)] = static_cast<std::int64_t>(n);
  }
  std::size_t at = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return is_gone[at++]; });
}

void fuse_activations(Graph& graph) {
  const std::vector<std::size_t> reads = count_reads(graph);
  std::vector<std::int64_t> producer(graph.values.size(), -1);
  std::vector<bool> is_gone(graph.nodes.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    const std::int64_t activation = activation_number(node.op);
    const auto* x = activation != 0 ? node.arguments[0].as<ValueId>() : nullptr;
    const std::int64_t by = x ? producer[index_of(*x)] : -1;
    if (by >= 0 && reads[index_of(*x)] == 1 && can_fuse(graph, graph.nodes[static_cast<std::size_t>(by)], node)) {
      Node& fused = graph.nodes[static_cast<std::size_t>(by)];
      Argument& option = fused.arguments.emplace_back();
      option.name = "fused_activation_function";
      option.content = activation;
      fused.outputs = node.outputs;
      is_gone[n] = true;
      producer[index_of(node.outputs[0])] = by;
      continue;
    }
    for (const ValueId output : node.outputs)
      if (output != ValueId::none) producer[index_of(output)] = static_cast<std::int64_t>(n);
  }
  std::size_t at = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return is_gone[at++]; });
}

}  // namespace onnxkit::to_tflite
