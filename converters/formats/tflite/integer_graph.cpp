#include "converters/formats/tflite/integer_graph.h"

#include <string>
#include <utility>

#include "converters/formats/tflite/fuse.h"

namespace onnxkit::to_tflite {

ValueId value_of(const Argument& argument) {
  const auto* id = argument.as<ValueId>();
  return id ? *id : ValueId::none;
}

void IntegerGraph::index() {
  reads_ = count_reads(graph);
  producer_.assign(graph.values.size(), -1);
  reader_.assign(graph.values.size(), -1);
  constant_.assign(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId output : graph.nodes[n].outputs)
      if (output != ValueId::none) producer_[index_of(output)] = static_cast<std::int64_t>(n);
    for (const Argument& argument : graph.nodes[n].arguments)
      if (const ValueId id = value_of(argument); id != ValueId::none)
        reader_[index_of(id)] = static_cast<std::int64_t>(n);
  }
  for (std::size_t t = 0; t < graph.tensors.size(); ++t)
    constant_[index_of(graph.tensors[t].value)] = static_cast<std::int64_t>(t);
}

Node* IntegerGraph::at(const std::vector<std::int64_t>& nodes, ValueId id) {
  const std::int64_t n = id == ValueId::none ? -1 : nodes[index_of(id)];
  return n < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(n)];
}

foreign::Tensor* IntegerGraph::constant(ValueId id) {
  const std::int64_t t = id == ValueId::none ? -1 : constant_[index_of(id)];
  return t < 0 ? nullptr : &graph.tensors[static_cast<std::size_t>(t)];
}

ValueId IntegerGraph::integers_of(ValueId id) {
  const Node* node = producer(id);
  if (!node || node->op != "DEQUANTIZE") return ValueId::none;
  const ValueId integers = value_of(node->arguments[0]);
  return elem(integers) == ElementType::int8 && value(integers).quantization ? integers : ValueId::none;
}

ValueId IntegerGraph::add_integers_of(ValueId real, const foreign::Quantization& quantization) {
  const std::string name = std::string(graph.name_of(real)) + "_int8";
  auto type = value(real).type;
  if (type) type->elem = ElementType::int8;
  const ValueId made = graph.add_value(model.strings->keep(name).view(), std::move(type));
  value(made).quantization = quantization;
  return made;
}

}  // namespace onnxkit::to_tflite
