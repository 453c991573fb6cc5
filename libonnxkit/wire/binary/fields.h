#pragma once

#include <type_traits>

#include "libonnxkit/ir/model.h"

// Every message of the ONNX schema as a list of its fields, in the order of their numbers, which is the order in which protobuf
// writes them. A visitor is called with (number, name, member) for each field and with `unknown(member)` for the rest; the reader, the
// writer and the guess at what a foreign file is are such visitors. Special members:
//   one_of           two members of which a message has one
//   payload<T>       one alternative of an attribute's value
//   kind             one alternative of a type
//   value_name(s)    names that the IR holds as values of the enclosing graph
namespace onnxkit::wire {

/// A message as visitor V sees it: the reader changes it, the others do not.
template <class V, class M>
using Seen = std::conditional_t<V::reading, M, const M>&;

/// How the elements of a packed field are encoded.
enum class Packing : std::uint8_t { varint, fixed32, fixed64 };

/// The message inside the oneof of TypeProto; its fields live in the DeclaredType itself.
template <ir::DeclaredType::Kind kind, class Type>
struct TypeBody {
  Type& type;
};
template <class V, ir::DeclaredType::Kind kind>
using SeenBody = const TypeBody<kind, std::remove_reference_t<Seen<V, ir::DeclaredType>>>&;

template <class V>
void fields(V& v, Seen<V, ir::StringEntry> m) {
  v(1, "key", m.key);
  v(2, "value", m.value);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Tensor::Segment> m) {
  v(1, "begin", m.begin);
  v(2, "end", m.end);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Tensor> m) {
  v(1, "dims", m.dims);
  v(2, "data_type", m.data_type);
  v(3, "segment", m.segment);
  v.packed(4, "float_data", m.float_data, Packing::fixed32);
  v.packed(5, "int32_data", m.int32_data, Packing::varint);
  v(6, "string_data", m.string_data);
  v.packed(7, "int64_data", m.int64_data, Packing::varint);
  v(8, "name", m.name);
  v(9, "raw_data", m.raw_data);
  v.packed(10, "double_data", m.double_data, Packing::fixed64);
  v.packed(11, "uint64_data", m.uint64_data, Packing::varint);
  v(12, "doc_string", m.doc_string);
  v(13, "external_data", m.external_data);
  v(14, "data_location", m.data_location);
  v(16, "metadata_props", m.metadata_props);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::SparseTensor> m) {
  v(1, "values", m.values);
  v(2, "indices", m.indices);
  v(3, "dims", m.dims);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::DeclaredDim> m) {
  v.one_of(1, "dim_value", m.value, 2, "dim_param", m.param);
  v(3, "denotation", m.denotation);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::DeclaredShape> m) {
  v(1, "dim", m.dims);
  v.unknown(m.unknown_fields);
}

template <class V>
void tensor_type_fields(V& v, Seen<V, ir::DeclaredType> type) {
  v(1, "elem_type", type.elem_type);
  v(2, "shape", type.shape);
  v.unknown(type.kind_unknown_fields);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::tensor> m) {
  tensor_type_fields(v, m.type);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::sparse_tensor> m) {
  tensor_type_fields(v, m.type);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::sequence> m) {
  v(1, "elem_type", m.type.element);
  v.unknown(m.type.kind_unknown_fields);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::optional> m) {
  v(1, "elem_type", m.type.element);
  v.unknown(m.type.kind_unknown_fields);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::map> m) {
  v(1, "key_type", m.type.key_type);
  v(2, "value_type", m.type.element);
  v.unknown(m.type.kind_unknown_fields);
}
template <class V>
void fields(V& v, SeenBody<V, ir::DeclaredType::Kind::opaque> m) {
  v(1, "domain", m.type.opaque_domain);
  v(2, "name", m.type.opaque_name);
  v.unknown(m.type.kind_unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::DeclaredType> m) {
  using Kind = ir::DeclaredType::Kind;
  v.template kind<Kind::tensor>(1, "tensor_type", m);
  v.template kind<Kind::sequence>(4, "sequence_type", m);
  v.template kind<Kind::map>(5, "map_type", m);
  v(6, "denotation", m.denotation);
  v.template kind<Kind::opaque>(7, "opaque_type", m);
  v.template kind<Kind::sparse_tensor>(8, "sparse_tensor_type", m);
  v.template kind<Kind::optional>(9, "optional_type", m);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Attribute> m) {
  v(1, "name", m.name);
  v.template payload<float>(2, "f", m);
  v.template payload<std::int64_t>(3, "i", m);
  v.template payload<Text>(4, "s", m);
  v.template payload<std::unique_ptr<ir::Tensor>>(5, "t", m);
  v.template payload<std::unique_ptr<ir::Graph>>(6, "g", m);
  v.template payload<std::vector<float>>(7, "floats", m);
  v.template payload<std::vector<std::int64_t>>(8, "ints", m);
  v.template payload<std::vector<Text>>(9, "strings", m);
  v.template payload<std::vector<ir::Tensor>>(10, "tensors", m);
  v.template payload<std::vector<std::unique_ptr<ir::Graph>>>(11, "graphs", m);
  v(13, "doc_string", m.doc_string);
  v.template payload<std::unique_ptr<ir::DeclaredType>>(14, "tp", m);
  v.template payload<std::vector<ir::DeclaredType>>(15, "type_protos", m);
  v(20, "type", m.type);
  v(21, "ref_attr_name", m.ref_attr_name);
  v.template payload<std::unique_ptr<ir::SparseTensor>>(22, "sparse_tensor", m);
  v.template payload<std::vector<ir::SparseTensor>>(23, "sparse_tensors", m);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::IntIntListEntry> m) {
  v(1, "key", m.key);
  v(2, "value", m.value);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::SimpleShardedDim> m) {
  v.one_of(1, "dim_value", m.dim_value, 2, "dim_param", m.dim_param);
  v(3, "num_shards", m.num_shards);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::ShardedDim> m) {
  v(1, "axis", m.axis);
  v(2, "simple_sharding", m.simple_sharding);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::ShardingSpec> m) {
  v(1, "tensor_name", m.tensor_name);
  v(2, "device", m.device);
  v(3, "index_to_device_group_map", m.index_to_device_group_map);
  v(4, "sharded_dim", m.sharded_dim);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::NodeDeviceConfiguration> m) {
  v(1, "configuration_id", m.configuration_id);
  v(2, "sharding_spec", m.sharding_spec);
  v(3, "pipeline_stage", m.pipeline_stage);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Node> m) {
  v.value_names(1, "input", m.inputs);
  v.value_names(2, "output", m.outputs);
  v(3, "name", m.name);
  v(4, "op_type", m.op_type);
  v(5, "attribute", m.attributes);
  v(6, "doc_string", m.doc_string);
  v(7, "domain", m.domain);
  v(8, "overload", m.overload);
  v(9, "metadata_props", m.metadata_props);
  v(10, "device_configurations", m.device_configurations);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::ValueInfo> m) {
  v.value_name(1, "name", m);
  v(2, "type", m.type);
  v(3, "doc_string", m.doc_string);
  v(4, "metadata_props", m.metadata_props);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::TensorAnnotation> m) {
  v(1, "tensor_name", m.tensor_name);
  v(2, "quant_parameter_tensor_names", m.quant_parameter_tensor_names);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Graph> m) {
  v(1, "node", m.nodes);
  v(2, "name", m.name);
  v(5, "initializer", m.initializers);
  v(10, "doc_string", m.doc_string);
  v(11, "input", m.inputs);
  v(12, "output", m.outputs);
  v(13, "value_info", m.value_infos);
  v(14, "quantization_annotation", m.quantization_annotations);
  v(15, "sparse_initializer", m.sparse_initializers);
  v(16, "metadata_props", m.metadata_props);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::OpsetImport> m) {
  v(1, "domain", m.domain);
  v(2, "version", m.version);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Function> m) {
  v(1, "name", m.name);
  v.value_names(4, "input", m.body.inputs);
  v.value_names(5, "output", m.body.outputs);
  v(6, "attribute", m.attributes);
  v(7, "node", m.body.nodes);
  v(8, "doc_string", m.doc_string);
  v(9, "opset_import", m.opset_imports);
  v(10, "domain", m.domain);
  v(11, "attribute_proto", m.attribute_protos);
  v(12, "value_info", m.body.value_infos);
  v(13, "overload", m.overload);
  v(14, "metadata_props", m.metadata_props);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::TrainingInfo> m) {
  v(1, "initialization", m.initialization);
  v(2, "algorithm", m.algorithm);
  v(3, "initialization_binding", m.initialization_binding);
  v(4, "update_binding", m.update_binding);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::DeviceConfiguration> m) {
  v(1, "name", m.name);
  v(2, "num_devices", m.num_devices);
  v(3, "device", m.devices);
  v.unknown(m.unknown_fields);
}

template <class V>
void fields(V& v, Seen<V, ir::Model> m) {
  v(1, "ir_version", m.ir_version);
  v(2, "producer_name", m.producer_name);
  v(3, "producer_version", m.producer_version);
  v(4, "domain", m.domain);
  v(5, "model_version", m.model_version);
  v(6, "doc_string", m.doc_string);
  v(7, "graph", m.graph);
  v(8, "opset_import", m.opset_imports);
  v(14, "metadata_props", m.metadata_props);
  v(20, "training_info", m.training_infos);
  v(25, "functions", m.functions);
  v(26, "configuration", m.configurations);
  v.unknown(m.unknown_fields);
}

/// The graph whose values the names inside message `m` stand for, if `m` opens a scope.
template <class M>
const ir::Graph* scope_of(const M& m) {
  if constexpr (std::is_same_v<M, ir::Graph>) return &m;
  if constexpr (std::is_same_v<M, ir::Function>) return &m.body;
  return nullptr;
}

}  // namespace onnxkit::wire
