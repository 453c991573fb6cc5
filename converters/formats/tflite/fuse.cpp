#include "converters/formats/tflite/fuse.h"

#include <algorithm>

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

bool can_fuse(const Graph& graph, const Node& node) {
  const auto& type = graph.values[index_of(node.outputs[0])].type;
  return std::find(std::begin(with_activation), std::end(with_activation), node.op) != std::end(with_activation) &&
         type && type->elem == ElementType::float32 && !node.find("fused_activation_function");
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
    if (by >= 0 && reads[index_of(*x)] == 1 && can_fuse(graph, graph.nodes[static_cast<std::size_t>(by)])) {
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
