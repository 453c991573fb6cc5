#include "libonnxkit/ir/builder.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "libonnxkit/ir/scope.h"

namespace onnxkit::ir {
namespace {

template <class Payload>
Attribute attribute_with(Model& model, std::string_view name, Payload payload) {
  Attribute made;
  made.name = model.keep(name);
  made.payload = std::move(payload);
  made.type = attribute_type_of(made.payload);
  return made;
}

}  // namespace

Attribute make_attribute(Model& model, const Attr& attribute) {
  return std::visit(
      [&](const auto& value) {
        using Held = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Held, std::string>) {
          return attribute_with(model, attribute.name, model.keep(value));
        } else if constexpr (std::is_same_v<Held, std::vector<std::string>>) {
          std::vector<Text> texts;
          for (const std::string& text : value) texts.push_back(model.keep(text));
          return attribute_with(model, attribute.name, std::move(texts));
        } else {
          return attribute_with(model, attribute.name, value);
        }
      },
      attribute.value);
}

Attribute make_attribute(Model& model, std::string_view name, Tensor tensor) {
  return attribute_with(model, name, std::make_unique<Tensor>(std::move(tensor)));
}

Attribute make_attribute(Model& model, std::string_view name, std::unique_ptr<Graph> graph) {
  return attribute_with(model, name, std::move(graph));
}

Node make_node(Model& model, std::string_view op_type, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
               const std::vector<Attr>& attributes) {
  Node node;
  node.op_type = model.keep(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  for (const Attr& attribute : attributes) node.attributes.push_back(make_attribute(model, attribute));
  return node;
}

Tensor make_tensor(Model& model, ElementType type, std::vector<std::int64_t> dims, std::span<const std::byte> raw) {
  Tensor tensor;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.raw_data = model.keep({reinterpret_cast<const char*>(raw.data()), raw.size()});
  return tensor;
}

Tensor make_tensor(Model& model, std::span<const std::int64_t> values) {
  return make_tensor(model, ElementType::int64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(values));
}

Tensor make_tensor(Model& model, std::span<const float> values) {
  return make_tensor(model, ElementType::float32, {static_cast<std::int64_t>(values.size())}, std::as_bytes(values));
}

Text FreshNames::make(std::string_view stem) {
  if (!std::exchange(is_filled_, true)) fill();
  std::string name(stem);
  if (names_.contains(std::string_view(name))) {
    std::size_t& next = next_.try_emplace(name, 2).first->second;
    do {
      name = fmt::format("{}_{}", stem, next++);
    } while (names_.contains(std::string_view(name)));
  }
  const Text kept = model_.keep(name);
  names_.insert(kept.view());
  return kept;
}

void FreshNames::fill() {
  for (const Graph* graph : mutable_graphs(model_)) {
    for (const Value& value : graph->values) names_.insert(value.name.view());
  }
}

}  // namespace onnxkit::ir
