#include "libonnxkit/ir/clone.h"

#include <algorithm>
#include <type_traits>

namespace onnxkit::ir {
namespace {

// Every member is named, by designated initialisers or structured bindings: one that is added later does not compile, or warns,
// until it is copied here.

DeclaredType copied(const DeclaredType& type) { return type.clone(); }
Tensor copied(const Tensor& tensor) { return clone(tensor); }
SparseTensor copied(const SparseTensor& sparse) { return clone(sparse); }
Attribute copied(const Attribute& attribute) { return clone(attribute); }
Node copied(const Node& node) { return clone(node); }
ValueInfo copied(const ValueInfo& info) { return clone(info); }
Graph copied(const Graph& graph) { return clone(graph); }
TrainingInfo copied(const TrainingInfo& training) { return clone(training); }

template <class T>
std::unique_ptr<T> copied(const std::unique_ptr<T>& held) {
  return held ? std::make_unique<T>(copied(*held)) : nullptr;
}

template <class T>
std::vector<T> copied(const std::vector<T>& list) {
  std::vector<T> copies;
  copies.reserve(list.size());
  for (const T& item : list) copies.push_back(copied(item));
  return copies;
}

Attribute::Payload payload_of(const Attribute::Payload& payload) {
  return std::visit(
      [](const auto& held) -> Attribute::Payload {
        using Held = std::decay_t<decltype(held)>;
        constexpr bool is_plain = std::is_arithmetic_v<Held> || std::is_same_v<Held, std::monostate> ||
                                  std::is_same_v<Held, Text> || std::is_same_v<Held, std::vector<float>> ||
                                  std::is_same_v<Held, std::vector<std::int64_t>> ||
                                  std::is_same_v<Held, std::vector<Text>>;
        if constexpr (is_plain) {
          return held;
        } else {
          return copied(held);
        }
      },
      payload);
}

}  // namespace

Tensor clone(const Tensor& tensor) {
  return {.dims = tensor.dims,
          .data_type = tensor.data_type,
          .segment = tensor.segment ? std::make_unique<Tensor::Segment>(*tensor.segment) : nullptr,
          .float_data = tensor.float_data,
          .int32_data = tensor.int32_data,
          .int64_data = tensor.int64_data,
          .double_data = tensor.double_data,
          .uint64_data = tensor.uint64_data,
          .string_data = tensor.string_data,
          .name = tensor.name,
          .doc_string = tensor.doc_string,
          .raw_data = tensor.raw_data,
          .external_data = tensor.external_data,
          .data_location = tensor.data_location,
          .metadata_props = tensor.metadata_props,
          .unknown_fields = tensor.unknown_fields};
}

SparseTensor clone(const SparseTensor& sparse) {
  return {.values = copied(sparse.values),
          .indices = copied(sparse.indices),
          .dims = sparse.dims,
          .unknown_fields = sparse.unknown_fields};
}

Attribute clone(const Attribute& attribute) {
  const auto& [name, ref_attr_name, doc_string, type, payload, more_payloads, unknown_fields] = attribute;
  Attribute copy;
  copy.name = name;
  copy.ref_attr_name = ref_attr_name;
  copy.doc_string = doc_string;
  copy.type = type;
  copy.payload = payload_of(payload);
  for (const Attribute::Payload& more : more_payloads) copy.more_payloads.push_back(payload_of(more));
  copy.unknown_fields = unknown_fields;
  return copy;
}

Node clone(const Node& node) {
  return {.inputs = node.inputs,
          .outputs = node.outputs,
          .name = node.name,
          .op_type = node.op_type,
          .domain = node.domain,
          .overload = node.overload,
          .doc_string = node.doc_string,
          .attributes = copied(node.attributes),
          .metadata_props = node.metadata_props,
          .device_configurations = node.device_configurations,
          .unknown_fields = node.unknown_fields};
}

ValueInfo clone(const ValueInfo& info) {
  return {.value = info.value,
          .has_name = info.has_name,
          .type = info.type ? std::optional(info.type->clone()) : std::nullopt,
          .doc_string = info.doc_string,
          .metadata_props = info.metadata_props,
          .unknown_fields = info.unknown_fields};
}

Graph clone(const Graph& graph) {
  Graph copy;
  copy.values.reserve(graph.values.size());
  for (const Value& value : graph.values) copy.intern(value.name);
  copy.nodes = copied(graph.nodes);
  copy.name = graph.name;
  copy.doc_string = graph.doc_string;
  copy.initializers = copied(graph.initializers);
  copy.sparse_initializers = copied(graph.sparse_initializers);
  copy.inputs = copied(graph.inputs);
  copy.outputs = copied(graph.outputs);
  copy.value_infos = copied(graph.value_infos);
  copy.quantization_annotations = graph.quantization_annotations;
  copy.metadata_props = graph.metadata_props;
  copy.unknown_fields = graph.unknown_fields;
  return copy;
}

Function clone(const Function& function) {
  return {.name = function.name,
          .domain = function.domain,
          .overload = function.overload,
          .doc_string = function.doc_string,
          .attributes = function.attributes,
          .attribute_protos = copied(function.attribute_protos),
          .opset_imports = function.opset_imports,
          .body = clone(function.body),
          .metadata_props = function.metadata_props,
          .unknown_fields = function.unknown_fields};
}

TrainingInfo clone(const TrainingInfo& training) {
  return {.initialization = copied(training.initialization),
          .algorithm = copied(training.algorithm),
          .initialization_binding = training.initialization_binding,
          .update_binding = training.update_binding,
          .unknown_fields = training.unknown_fields};
}

Model clone(const Model& model) { return clone(model, std::vector<bool>(model.functions.size(), true)); }

Model clone(const Model& model, const std::vector<bool>& is_kept) {
  const auto& [ir_version, model_version, opset_imports, producer_name, producer_version, domain, doc_string, graph,
               metadata_props, training_infos, functions, configurations, unknown_fields, path, strings, files] = model;
  Model copy;
  copy.ir_version = ir_version;
  copy.model_version = model_version;
  copy.opset_imports = opset_imports;
  copy.producer_name = producer_name;
  copy.producer_version = producer_version;
  copy.domain = domain;
  copy.doc_string = doc_string;
  copy.graph = copied(graph);
  copy.metadata_props = metadata_props;
  copy.training_infos = copied(training_infos);
  copy.functions.reserve(static_cast<std::size_t>(std::count(is_kept.begin(), is_kept.end(), true)));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (is_kept[i]) copy.functions.push_back(clone(functions[i]));
  }
  copy.configurations = configurations;
  copy.unknown_fields = unknown_fields;
  copy.path = path;
  copy.strings = nullptr;
  share_storage(copy, model);
  return copy;
}

void share_storage(Model& to, const Model& from) {
  const Model* const one = &from;
  share_storage(to, {&one, 1});
}

void share_storage(Model& to, std::span<const Model* const> from) {
  struct Pools {
    StringPool own;
    std::vector<std::shared_ptr<const StringPool>> others;
  };
  if (from.empty()) return;
  auto pools = std::make_shared<Pools>();
  pools->others = {to.strings};
  for (const Model* model : from) {
    pools->others.push_back(model->strings);
    for (const auto& file : model->files) {
      if (std::find(to.files.begin(), to.files.end(), file) == to.files.end()) to.files.push_back(file);
    }
  }
  to.strings = std::shared_ptr<StringPool>(pools, &pools->own);
}

}  // namespace onnxkit::ir
