#include "converters/formats/tflite/program.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/formats/tflite/container.h"
#include "converters/formats/tflite/dtype.h"
#include "converters/formats/tflite/options.h"
#include "converters/formats/tflite/sparse.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/text/utf8.h"
#include "tflite_generated.h"

namespace onnxkit::tflite {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

Error malformed(std::string message) { return make_error("malformed-model", std::move(message)); }

std::string_view text_of(const flatbuffers::String* text) {
  return text ? std::string_view(text->c_str(), text->size()) : std::string_view();
}

/// Elements of a vector that may be missing.
template <class T>
std::span<const T> all_of(const flatbuffers::Vector<T>* vector) {
  return vector ? std::span<const T>(vector->data(), vector->size()) : std::span<const T>();
}

/// The tables of a vector; missing ones are left out of well-formed files.
template <class T>
std::vector<const T*> tables_of(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector) {
  std::vector<const T*> tables;
  if (vector)
    for (const T* table : *vector) tables.push_back(table);
  return tables;
}

std::vector<std::int64_t> indices_of(schema::SparseIndexVector type, const void* vector) {
  const auto widened = [](const auto* indices) {
    const auto values = all_of(indices->values());
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  if (!vector) return {};
  if (type == schema::SparseIndexVector_Int32Vector) return widened(static_cast<const schema::Int32Vector*>(vector));
  if (type == schema::SparseIndexVector_Uint16Vector) return widened(static_cast<const schema::Uint16Vector*>(vector));
  if (type == schema::SparseIndexVector_Uint8Vector) return widened(static_cast<const schema::Uint8Vector*>(vector));
  return {};
}

/// Levels that the file does not describe have no places.
Sparsity sparsity_of(const schema::SparsityParameters& parameters) {
  Sparsity sparsity;
  const auto order = all_of(parameters.traversal_order()), blocks = all_of(parameters.block_map());
  const auto described = tables_of(parameters.dim_metadata());
  sparsity.block_map.assign(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    SparseLevel& level = sparsity.levels.emplace_back();
    level.axis = order[i];
    if (i >= described.size()) continue;
    const schema::DimensionMetadata& one = *described[i];
    if (one.format() == schema::DimensionType_DENSE) {
      level.size = one.dense_size();
    } else {
      level.segments = indices_of(one.array_segments_type(), one.array_segments());
      level.indices = indices_of(one.array_indices_type(), one.array_indices());
    }
  }
  return sparsity;
}

class ProgramReader {
 public:
  ProgramReader(std::shared_ptr<const MappedFile> file, const schema::Model& model, const Mappings& mappings)
      : source_(model), mappings_(mappings), file_(*file), subgraphs_(tables_of(model.subgraphs())) {
    model_.framework = "TensorFlow Lite";
    model_.files.push_back(std::move(file));
  }

  Result<foreign::Model> read() {
    if (subgraphs_.empty()) return malformed("the model has no graph");
    add_signature();
    auto graph = read_graph(0);
    if (!graph) return std::move(graph).error();
    model_.graph = std::move(**graph);
    model_.graph.name = "main";
    constexpr std::int64_t opset_of_short_integers =
        21;  // QuantizeLinear and DequantizeLinear take int16 and int4 from then on
    if (has_short_integers_) model_.opset = opset_of_short_integers;
    return std::move(model_);
  }

 private:
  /// Names of the boundary: those of the first signature of the main graph.
  void add_signature() {
    std::string keys;
    const schema::SignatureDef* chosen = nullptr;
    for (const schema::SignatureDef* signature : tables_of(source_.signature_defs())) {
      const std::string_view key = text_of(signature->signature_key());
      keys += (keys.empty() ? "" : ",") + std::string(key);
      if (chosen || signature->subgraph_index() != 0) continue;
      chosen = signature;
      for (const auto* map : tables_of(signature->inputs()))
        input_names_.emplace(map->tensor_index(), text_of(map->name()));
      for (const auto* map : tables_of(signature->outputs()))
        output_names_.emplace(map->tensor_index(), text_of(map->name()));
    }
    if (chosen) model_.metadata.emplace_back("source_signature", text_of(chosen->signature_key()));
    if (keys.find(',') != keys.npos) model_.metadata.emplace_back("source_signatures", model_.strings->keep(keys));
    read_metadata();
  }

  /// Entries that are text. Where a model came from before it became this file is not where it comes from now.
  void read_metadata() {
    constexpr std::size_t most_bytes = std::size_t{1} << 16;
    for (const schema::Metadata* entry : tables_of(source_.metadata())) {
      const std::string_view name = text_of(entry->name());
      const auto bytes = buffer_bytes(file_, source_, entry->buffer());
      if (name.empty() || name.starts_with("source_") || !bytes || bytes->empty() || bytes->size() > most_bytes)
        continue;
      const std::string_view value(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      const bool is_known = std::any_of(model_.metadata.begin(), model_.metadata.end(),
                                        [&](const auto& known) { return known.first == name; });
      if (!is_known && value.find('\0') == value.npos && find_invalid_utf8(value) == value.npos &&
          find_invalid_utf8(name) == name.npos)
        model_.metadata.emplace_back(name, value);
    }
  }

  Result<std::unique_ptr<Graph>> read_graph(std::int64_t index) {
    if (index < 0 || index >= static_cast<std::int64_t>(subgraphs_.size()))
      return malformed(fmt::format("graph {} does not exist", index));
    if (std::find(open_.begin(), open_.end(), index) != open_.end())
      return malformed(fmt::format("graph {} calls itself", index));
    open_.push_back(index);
    const schema::SubGraph& source = *subgraphs_[static_cast<std::size_t>(index)];
    auto graph = std::make_unique<Graph>();
    graph->name = text_of(source.name());
    if (auto done = add_tensors(source, *graph); !done) return std::move(done).error();
    if (auto done = add_boundary(source, *graph, open_.size() == 1); !done) return std::move(done).error();
    for (const schema::Operator* node : tables_of(source.operators()))
      if (auto done = add_node(*node, *graph); !done) return std::move(done).error();
    add_empty_constants(*graph);
    open_.pop_back();
    return graph;
  }

  // ---- tensors

  Result<void> add_tensors(const schema::SubGraph& source, Graph& graph) {
    for (const schema::Tensor* tensor : tables_of(source.tensors())) {
      const ValueId id = graph.add_value(text_of(tensor->name()), type_of(*tensor));
      const ElementType elem = graph.values.back().type->elem;
      if (auto done = add_quantization(*tensor, graph.values.back()); !done) return done;
      if (graph.values.back().quantization && (storage_bits(elem) == 4 || storage_bits(elem) == 16))
        has_short_integers_ = true;
      const auto bytes = buffer_bytes(file_, source_, tensor->buffer());
      if (!bytes) return bytes.error();
      if (!bytes->empty())
        if (auto done = add_constant(*tensor, id, *bytes, graph); !done) return done;
    }
    return {};
  }

  /// What nothing computes and has no elements is a constant, whose contents take no buffer.
  static void add_empty_constants(Graph& graph) {
    std::vector<bool> is_known(graph.values.size(), false);
    for (const ValueId input : graph.inputs) is_known[foreign::index_of(input)] = true;
    for (const foreign::Tensor& tensor : graph.tensors) is_known[foreign::index_of(tensor.value)] = true;
    for (const Node& node : graph.nodes)
      for (const ValueId output : node.outputs)
        if (output != ValueId::none) is_known[foreign::index_of(output)] = true;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const foreign::Value& value = graph.values[v];
      if (is_known[v] || !value.type->shape || value.type->elem == ElementType::string) continue;
      foreign::Tensor constant;
      constant.value = ValueId{static_cast<std::uint32_t>(v)};
      constant.name = value.name;
      constant.elem = value.type->elem;
      for (const foreign::Size& size : *value.type->shape) constant.dims.push_back(size.constant);
      const bool is_whole =
          std::all_of(constant.dims.begin(), constant.dims.end(), [](auto size) { return size >= 0; });
      const bool is_empty = std::find(constant.dims.begin(), constant.dims.end(), 0) != constant.dims.end();
      if (is_whole && is_empty) graph.tensors.push_back(std::move(constant));
    }
    std::sort(graph.tensors.begin(), graph.tensors.end(), [](const foreign::Tensor& a, const foreign::Tensor& b) {
      return foreign::index_of(a.value) < foreign::index_of(b.value);
    });
  }

  foreign::TensorType type_of(const schema::Tensor& tensor) {
    foreign::TensorType type;
    type.elem = elem_of(tensor.type());
    const auto sizes = all_of(tensor.shape());
    auto signature = all_of(tensor.shape_signature());
    if (signature.size() != sizes.size()) signature = sizes;
    if (sizes.empty() && !tensor.has_rank()) return type;  // a scalar, or a tensor of any rank
    type.shape.emplace();
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      foreign::Size& size = type.shape->emplace_back();
      if (signature[axis] >= 0) size.constant = sizes[axis];
    }
    return type;
  }

  Result<void> add_quantization(const schema::Tensor& tensor, foreign::Value& value) {
    const schema::QuantizationParameters* parameters = tensor.quantization();
    const auto scales = parameters ? all_of(parameters->scale()) : std::span<const float>();
    if (scales.empty() || is_floating(value.type->elem)) return {};
    foreign::Quantization& made = value.quantization.emplace();
    made.scales.assign(scales.begin(), scales.end());
    made.zero_points.assign(scales.size(), 0);
    const auto zero_points = all_of(parameters->zero_point());
    const auto sizes = all_of(tensor.shape());
    const std::int64_t axis = parameters->quantized_dimension();
    const bool has_axis = axis >= 0 && axis < static_cast<std::int64_t>(sizes.size());
    if ((zero_points.size() > 1 && zero_points.size() != scales.size()) ||
        (scales.size() > 1 && (!has_axis || sizes[static_cast<std::size_t>(axis)] != static_cast<int>(scales.size()))))
      return malformed(fmt::format("the quantization of tensor {} does not fit its shape", quote(value.name)));
    for (std::size_t i = 0; i < scales.size() && !zero_points.empty(); ++i)
      made.zero_points[i] = zero_points[zero_points.size() == 1 ? 0 : i];
    made.axis = scales.size() > 1 ? axis : 0;
    return {};
  }

  Result<void> add_constant(const schema::Tensor& tensor, ValueId id, std::span<const std::byte> bytes, Graph& graph) {
    const foreign::Value& value = graph.values[foreign::index_of(id)];
    if (value.type->elem == ElementType::string) return {};  // refused where it is read
    foreign::Tensor constant;
    constant.value = id;
    constant.name = value.name;
    constant.elem = value.type->elem;
    for (const std::int32_t size : all_of(tensor.shape())) constant.dims.push_back(size);
    const auto count = checked_element_count(constant.dims);
    const auto wanted = count ? packed_size(constant.elem, *count) : std::nullopt;
    if (tensor.sparsity() && wanted) {
      const auto dense = dense_bytes(*tensor.sparsity(), constant, *wanted, bytes);
      if (!dense) return dense.error();
      bytes = *dense;
    }
    if (!wanted || *wanted != bytes.size())
      return malformed(
          fmt::format("tensor {} has {} bytes, which does not fit its shape", quote(value.name), bytes.size()));
    constant.bytes = bytes;
    graph.tensors.push_back(std::move(constant));
    return {};
  }

  /// All elements of a sparse tensor. What they take together is bounded by the size of the file, as is what is unpacked elsewhere.
  Result<std::span<const std::byte>> dense_bytes(const schema::SparsityParameters& parameters,
                                                 const foreign::Tensor& constant, std::size_t wanted,
                                                 std::span<const std::byte> stored) {
    const int bits = storage_bits(constant.elem);
    constexpr std::size_t most_times = 64, always = std::size_t{64} << 20;
    const std::size_t most = std::max(always, file_.view().size() * most_times);
    if (bits < 8 || wanted > most - std::min(dense_bytes_, most))
      return make_error("not-supported", fmt::format("tensor {} is stored as a sparse one, and too large without that",
                                                     quote(constant.name)));
    dense_bytes_ += wanted;
    const bool has_sizes =
        std::all_of(constant.dims.begin(), constant.dims.end(), [](std::int64_t size) { return size > 0; });
    auto dense = has_sizes
                     ? densified(sparsity_of(parameters), constant.dims, static_cast<std::size_t>(bits) / 8, stored)
                     : std::nullopt;
    if (!dense)
      return malformed(
          fmt::format("where the elements of sparse tensor {} are does not fit its shape", quote(constant.name)));
    model_.files.push_back(MappedFile::from_bytes(*std::move(dense)));
    return std::as_bytes(std::span(model_.files.back()->view()));
  }

  // ---- inputs and outputs

  Result<void> add_boundary(const schema::SubGraph& source, Graph& graph, bool is_main) {
    std::unordered_set<std::string_view> taken;
    for (const std::int32_t index : all_of(source.inputs())) {
      if (!is_tensor(index, graph)) return malformed(fmt::format("tensor {}, an input, does not exist", index));
      const ValueId id = value_at(index);
      if (std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end())
        return malformed(fmt::format("tensor {} is an input twice", index));
      graph.inputs.push_back(id);
      if (is_main) name_input(graph, index, taken);
    }
    for (const std::int32_t index : all_of(source.outputs())) {
      if (!is_tensor(index, graph)) return malformed(fmt::format("tensor {}, an output, does not exist", index));
      graph.outputs.push_back({value_at(index), is_main ? name_of_output(graph, index, taken) : std::string_view()});
    }
    if (is_main) free_names(graph, taken);
    // What an input holds in the file is a default that no runtime looks at.
    std::erase_if(graph.tensors, [&](const foreign::Tensor& tensor) {
      return std::find(graph.inputs.begin(), graph.inputs.end(), tensor.value) != graph.inputs.end();
    });
    return {};
  }

  std::string_view unique(std::string_view wanted, std::unordered_set<std::string_view>& taken) {
    if (wanted.empty()) wanted = "tensor";
    std::string_view name = wanted;
    for (int n = 2; !taken.insert(name).second; ++n) name = model_.strings->keep(fmt::format("{}_{}", wanted, n));
    return name;
  }

  void name_input(Graph& graph, std::int32_t index, std::unordered_set<std::string_view>& taken) {
    foreign::Value& value = graph.values[static_cast<std::size_t>(index)];
    const auto named = input_names_.find(static_cast<std::uint32_t>(index));
    value.name = unique(named != input_names_.end() ? named->second : value.name, taken);
    const bool is_first = graph.inputs.size() == 1;
    if (!value.type->shape) value.type->shape.emplace();  // whose rank a file does not state is a scalar
    for (std::size_t axis = 0; axis < value.type->shape->size(); ++axis) {
      foreign::Size& size = (*value.type->shape)[axis];
      if (size.constant >= 0) continue;
      size.expression =
          is_first && axis == 0 ? "batch" : model_.strings->keep(fmt::format("{}_{}", value.name, axis)).view();
    }
  }

  std::string_view name_of_output(Graph& graph, std::int32_t index, std::unordered_set<std::string_view>& taken) {
    const auto named = output_names_.find(static_cast<std::uint32_t>(index));
    const foreign::Value& value = graph.values[static_cast<std::size_t>(index)];
    return unique(named != output_names_.end() ? named->second : value.name, taken);
  }

  /// Values that are not the input or output of that name give it up.
  static void free_names(Graph& graph, const std::unordered_set<std::string_view>& taken) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const ValueId id{static_cast<std::uint32_t>(v)};
      if (std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end()) continue;
      if (taken.contains(graph.values[v].name)) graph.values[v].name = {};
    }
    for (const foreign::Output& output : graph.outputs)
      if (std::find(graph.inputs.begin(), graph.inputs.end(), output.value) == graph.inputs.end())
        graph.values[foreign::index_of(output.value)].name = output.name;
  }

  // ---- operators

  static bool is_tensor(std::int32_t index, const Graph& graph) {
    return index >= 0 && static_cast<std::size_t>(index) < graph.values.size();
  }
  static ValueId value_at(std::int32_t index) { return ValueId{static_cast<std::uint32_t>(index)}; }

  Result<std::string_view> name_of_operator(const schema::Operator& node) {
    const auto codes = tables_of(source_.operator_codes());
    if (node.opcode_index() >= codes.size())
      return malformed(fmt::format("operator code {} does not exist", node.opcode_index()));
    const schema::OperatorCode& code = *codes[node.opcode_index()];
    const auto number = std::max(static_cast<std::int32_t>(code.deprecated_builtin_code()),
                                 static_cast<std::int32_t>(code.builtin_code()));
    if (number == schema::BuiltinOperator_CUSTOM)
      return model_.strings->keep(fmt::format("CUSTOM {}", text_of(code.custom_code()))).view();
    const std::string_view name = schema::EnumNameBuiltinOperator(static_cast<schema::BuiltinOperator>(number));
    return name.empty() ? model_.strings->keep(fmt::format("operator {}", number)).view() : name;
  }

  Result<void> add_node(const schema::Operator& source, Graph& graph) {
    constexpr std::size_t most_nodes = 1'000'000;  // a graph counts each time that it is called
    if (++nodes_ > most_nodes)
      return make_error("not-supported", fmt::format("the model has more than {} operators", most_nodes));
    const auto op = name_of_operator(source);
    if (!op) return op.error();
    Node node;
    node.op = *op;
    if (auto done = add_inputs(source, graph, node); !done) return done;
    for (Argument& option : options_of(source)) node.arguments.push_back(std::move(option));
    for (Argument& option : custom_options_of(source, *op)) node.arguments.push_back(std::move(option));
    if (auto done = add_bodies(node); !done) return done;
    for (const std::int32_t index : all_of(source.outputs())) {
      if (index != -1 && !is_tensor(index, graph))
        return malformed(fmt::format("tensor {}, a result of {}, does not exist", index, node.op));
      node.outputs.push_back(index == -1 ? ValueId::none : value_at(index));
    }
    if (!node.outputs.empty()) node.name = graph.name_of(node.outputs.front());
    graph.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> add_inputs(const schema::Operator& source, const Graph& graph, Node& node) {
    const Mappings::Names& names = mappings_.inputs_of(node.op);
    Argument::List* list = nullptr;
    std::size_t position = 0;
    for (const std::int32_t index : all_of(source.inputs())) {
      if (index != -1 && !is_tensor(index, graph))
        return malformed(fmt::format("tensor {}, an input of {}, does not exist", index, node.op));
      Argument given;
      if (index != -1) given.content = value_at(index);
      const std::string_view name = position < names.size() ? names[position] : std::string_view();
      if (list) {
        list->push_back(std::move(given));
      } else if (name.ends_with("...")) {
        node.arguments.push_back({Argument::List(), name.substr(0, name.size() - 3)});
        list = std::get_if<Argument::List>(&node.arguments.back().content);
        list->push_back(std::move(given));
      } else {
        given.name = name;
        node.arguments.push_back(std::move(given));
      }
      ++position;
    }
    return {};
  }

  /// Graphs that an operator calls, in place of their numbers.
  Result<void> add_bodies(Node& node) {
    constexpr std::string_view ending = "_subgraph_index";
    for (Argument& argument : node.arguments) {
      const std::int64_t* index = argument.name.ends_with(ending) ? argument.as<std::int64_t>() : nullptr;
      if (!index) continue;
      auto body = read_graph(*index);
      if (!body) return std::move(body).error();
      argument.content = *std::move(body);
      argument.name.remove_suffix(ending.size());
    }
    return {};
  }

  const schema::Model& source_;
  const Mappings& mappings_;
  const MappedFile& file_;
  std::vector<const schema::SubGraph*> subgraphs_;
  foreign::Model model_;
  std::map<std::uint32_t, std::string_view> input_names_, output_names_;
  std::vector<std::int64_t> open_;  ///< graphs that are being read, from the outermost
  std::size_t nodes_ = 0;
  std::size_t dense_bytes_ = 0;  ///< of sparse tensors
  bool has_short_integers_ = false;
};

}  // namespace

Result<foreign::Model> read_program(std::shared_ptr<const MappedFile> file, const Mappings& mappings) {
  const auto model = verified_model(*file);
  if (!model) return model.error();
  return ProgramReader(std::move(file), **model, mappings).read();
}

}  // namespace onnxkit::tflite
