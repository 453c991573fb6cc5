#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/base/text/name_index.h"
#include "libonnxkit/base/text/string_pool.h"
#include "libonnxkit/base/text/text.h"
#include "libonnxkit/ir/type.h"

// The model as the file states it, valid or not, without losing a field: every member mirrors one of the ONNX schema.
// Text members view into the model's mapped files or its string pool. `unknown_fields` holds encoded fields that the schema
// of today does not name.
namespace onnxkit::ir {

struct Graph;
struct Model;

/// Index of a value in the graph that owns it. `none` stands for an omitted input or output (empty name).
enum class ValueId : std::uint32_t { none = 0xffffffff };
constexpr std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }

/// StringStringEntryProto.
struct StringEntry {
  Text key, value, unknown_fields;
};

/// The packed payload of a typed repeated field of TensorProto (float_data ...), still in wire encoding: fixed-width
/// little-endian for float and double, varints for the integers. Usually one chunk that views into the file.
struct PackedField {
  std::vector<std::span<const std::byte>> chunks;
  bool present() const { return !chunks.empty(); }
  std::uint64_t byte_count() const {
    std::uint64_t n = 0;
    for (const auto& chunk : chunks) n += chunk.size();
    return n;
  }
};

/// TensorProto. Weights are views; nothing is copied or decoded until somebody asks (see ir/tensor_data.h).
struct Tensor {
  std::vector<std::int64_t> dims;
  std::optional<std::int32_t> data_type;
  struct Segment {
    std::optional<std::int64_t> begin, end;
    Text unknown_fields;
  };
  std::unique_ptr<Segment> segment;
  PackedField float_data, int32_data, int64_data, double_data, uint64_data;
  std::vector<Text> string_data;
  Text name, doc_string, raw_data;
  std::vector<StringEntry> external_data;
  std::optional<std::int32_t> data_location;
  std::vector<StringEntry> metadata_props;
  Text unknown_fields;

  static constexpr std::int32_t location_external = 1;
  bool is_external() const { return data_location == location_external; }
};

/// SparseTensorProto.
struct SparseTensor {
  std::unique_ptr<Tensor> values, indices;
  std::vector<std::int64_t> dims;
  Text unknown_fields;
};

/// AttributeProto. A valid attribute has one payload; a file may set several, then the rest is in `more_payloads`.
struct Attribute {
  using Payload =
      std::variant<std::monostate, float, std::int64_t, Text, std::unique_ptr<Tensor>, std::unique_ptr<Graph>,
                   std::unique_ptr<SparseTensor>, std::unique_ptr<DeclaredType>, std::vector<float>,
                   std::vector<std::int64_t>, std::vector<Text>, std::vector<Tensor>,
                   std::vector<std::unique_ptr<Graph>>, std::vector<SparseTensor>, std::vector<DeclaredType>>;
  Text name;
  Text ref_attr_name;
  Text doc_string;
  std::optional<std::int32_t> type;  ///< AttributeProto.AttributeType
  Payload payload;
  std::vector<Payload> more_payloads;
  Text unknown_fields;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&payload);
  }
  const Graph* graph() const;
  const Tensor* tensor() const;

  Attribute();
  Attribute(Attribute&&) noexcept;
  Attribute& operator=(Attribute&&) noexcept;
  ~Attribute();
};

/// The AttributeType number that a payload stands for; 0 for none.
std::int32_t attribute_type_of(const Attribute::Payload& payload);

struct IntIntListEntry {
  std::optional<std::int64_t> key;
  std::vector<std::int64_t> value;
  Text unknown_fields;
};
struct SimpleShardedDim {
  std::optional<std::int64_t> dim_value;
  Text dim_param;
  std::optional<std::int64_t> num_shards;
  Text unknown_fields;
};
struct ShardedDim {
  std::optional<std::int64_t> axis;
  std::vector<SimpleShardedDim> simple_sharding;
  Text unknown_fields;
};
struct ShardingSpec {
  Text tensor_name;
  std::vector<std::int64_t> device;
  std::vector<IntIntListEntry> index_to_device_group_map;
  std::vector<ShardedDim> sharded_dim;
  Text unknown_fields;
};
struct NodeDeviceConfiguration {
  Text configuration_id;
  std::vector<ShardingSpec> sharding_spec;
  std::optional<std::int32_t> pipeline_stage;
  Text unknown_fields;
};

/// NodeProto.
struct Node {
  std::vector<ValueId> inputs, outputs;
  Text name, op_type, domain, overload, doc_string;
  std::vector<Attribute> attributes;
  std::vector<StringEntry> metadata_props;
  std::vector<NodeDeviceConfiguration> device_configurations;
  Text unknown_fields;

  const Attribute* find_attribute(std::string_view attribute) const;
};

/// ValueInfoProto: what the file says of one value.
struct ValueInfo {
  ValueId value = ValueId::none;
  bool has_name = true;  ///< false: the name field is absent
  std::optional<DeclaredType> type;
  Text doc_string;
  std::vector<StringEntry> metadata_props;
  Text unknown_fields;
};

struct TensorAnnotation {
  Text tensor_name;
  std::vector<StringEntry> quant_parameter_tensor_names;
  Text unknown_fields;
};

/// A name in a graph. One per distinct name that the graph mentions, whether it defines the value, takes it from an outer
/// scope or, in an invalid file, defines it twice or never. Definitions are found with ir/scope.h.
struct Value {
  Text name;
};

/// GraphProto; also holds the body of a function (`inputs` and `outputs` then have no types).
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  Text name, doc_string;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
  std::vector<TensorAnnotation> quantization_annotations;
  std::vector<StringEntry> metadata_props;
  Text unknown_fields;

  /// The value of that name, made when new; `none` for "". The name must outlive the graph (model pool or mapped file).
  ValueId intern(Text value_name);
  /// Makes the values of initializers that nothing else in the graph mentions. Readers call it last.
  void intern_initializers();
  /// The value of that name or `none`.
  ValueId find(std::string_view value_name) const;
  std::string_view name_of(ValueId id) const {
    return id == ValueId::none ? std::string_view() : values[index_of(id)].name.view();
  }
  /// Gives value `id` another name everywhere in this graph. False when the name is taken.
  bool rename(ValueId id, Text new_name);

 private:
  NameIndex ids_;
};

/// OperatorSetIdProto.
struct OpsetImport {
  Text domain;
  std::optional<std::int64_t> version;
  Text unknown_fields;
};

/// FunctionProto. Input and output names are `body.inputs` / `body.outputs`; its value_info is `body.value_infos`.
struct Function {
  Text name, domain, overload, doc_string;
  std::vector<Text> attributes;             ///< required attributes
  std::vector<Attribute> attribute_protos;  ///< attributes with defaults
  std::vector<OpsetImport> opset_imports;
  Graph body;
  std::vector<StringEntry> metadata_props;
  Text unknown_fields;
};

struct TrainingInfo {
  std::unique_ptr<Graph> initialization, algorithm;
  std::vector<StringEntry> initialization_binding, update_binding;
  Text unknown_fields;
};

struct DeviceConfiguration {
  Text name;
  std::optional<std::int32_t> num_devices;
  std::vector<Text> devices;
  Text unknown_fields;
};

/// ModelProto, and the owner of everything its parts view into. Move-only; moving keeps all views valid.
struct Model {
  std::optional<std::int64_t> ir_version, model_version;
  std::vector<OpsetImport> opset_imports;
  Text producer_name, producer_version, domain, doc_string;
  std::unique_ptr<Graph> graph;
  std::vector<StringEntry> metadata_props;
  std::vector<TrainingInfo> training_infos;
  std::vector<Function> functions;
  std::vector<DeviceConfiguration> configurations;
  Text unknown_fields;

  /// Path the model was read from; external data is relative to its folder. Empty when it came from memory.
  std::filesystem::path path;
  /// What Text and span members point into.
  std::shared_ptr<StringPool> strings = std::make_shared<StringPool>();
  std::vector<std::shared_ptr<const MappedFile>> files;

  Text keep(std::string_view bytes) { return strings->keep(bytes); }
};

}  // namespace onnxkit::ir
