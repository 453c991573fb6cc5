#include "converters/formats/tflite/program_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "converters/formats/tflite/dtype.h"
#include "converters/formats/tflite/operator_options.h"
#include "converters/layout/stored.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "tflite_generated.h"

namespace onnxkit::tflite {
namespace {

using flatbuffers::Offset;
using foreign::Argument;
using foreign::Graph;
using foreign::ValueId;

constexpr std::size_t buffer_alignment = 16;
/// Offsets to contents inside the FlatBuffer have 31 bits; the tables need some room.
constexpr std::uint64_t most_inside = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 24);

std::optional<std::int8_t> type_number(ElementType elem) {
  constexpr std::int8_t last = 20;
  for (std::int8_t type = 0; type <= last; ++type)
    if (elem_of(type) == elem) return type;
  return std::nullopt;
}

std::uint64_t padding_behind(std::uint64_t position) {
  return (buffer_alignment - position % buffer_alignment) % buffer_alignment;
}

class TfliteWriter {
 public:
  explicit TfliteWriter(const foreign::Model& model) : model_(model) { builder_.ForceDefaults(true); }

  Result<void> write(const ByteSink& sink) {
    contents_.emplace_back();  // buffer 0 is the empty one
    number_graphs(model_.graph);
    std::uint64_t bytes = 0;
    for (const Graph* graph : graphs_)
      for (const foreign::Tensor& tensor : graph->tensors) bytes += tensor.bytes.size() + buffer_alignment;
    is_outside_ = bytes > most_inside;
    std::vector<Offset<schema::SubGraph>> graphs;
    for (std::size_t g = 0; g < graphs_.size(); ++g) graphs.push_back(write_graph(*graphs_[g]));
    if (fault_) return *fault_;
    finish(graphs);
    return write_file(sink);
  }

 private:
  // ---- graphs

  void number_graphs(const Graph& graph) {
    indices_.emplace(&graph, static_cast<std::int32_t>(graphs_.size()));
    graphs_.push_back(&graph);
    for (const foreign::Node& node : graph.nodes)
      for (const Argument& argument : node.arguments)
        if (const auto* body = argument.as<std::unique_ptr<Graph>>()) number_graphs(**body);
  }

  Offset<schema::SubGraph> write_graph(const Graph& graph) {
    std::unordered_map<std::size_t, const foreign::Tensor*> constants;
    for (const foreign::Tensor& tensor : graph.tensors) constants.emplace(index_of(tensor.value), &tensor);
    const std::vector<std::int32_t> places = tensor_places(graph);
    std::vector<Offset<schema::Tensor>> tensors;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      if (places[v] < 0) continue;
      const auto constant = constants.find(v);
      tensors.push_back(write_tensor(graph.values[v], constant == constants.end() ? nullptr : constant->second));
    }
    std::vector<Offset<schema::Operator>> operators;
    for (const foreign::Node& node : graph.nodes) operators.push_back(write_operator(node, places));
    std::vector<std::int32_t> inputs, outputs;
    for (const ValueId input : graph.inputs) inputs.push_back(places[index_of(input)]);
    for (const foreign::Output& output : graph.outputs) outputs.push_back(places[index_of(output.value)]);
    if (&graph == &model_.graph) add_signature(graph, inputs, outputs);
    const auto all = builder_.CreateVector(tensors);
    const auto in = builder_.CreateVector(inputs), out = builder_.CreateVector(outputs);
    const auto nodes = builder_.CreateVector(operators);
    return schema::CreateSubGraph(builder_, all, in, out, nodes, text(graph.name.empty() ? "main" : graph.name));
  }

  /// Tensors of values that something reads or writes, in their order; -1 for others.
  static std::vector<std::int32_t> tensor_places(const Graph& graph) {
    std::vector<std::int32_t> places(graph.values.size(), -1);
    const auto use = [&](ValueId id) {
      if (id != ValueId::none) places[index_of(id)] = 0;
    };
    for (const ValueId input : graph.inputs) use(input);
    for (const foreign::Output& output : graph.outputs) use(output.value);
    for (const foreign::Node& node : graph.nodes) {
      for (const ValueId output : node.outputs) use(output);
      for (const Argument& argument : node.arguments) {
        if (const auto* id = argument.as<ValueId>()) use(*id);
        if (const auto* list = argument.as<Argument::List>())
          for (const Argument& item : *list)
            if (const auto* listed = item.as<ValueId>()) use(*listed);
      }
    }
    std::int32_t count = 0;
    for (std::int32_t& place : places)
      if (place == 0) place = count++;
    return places;
  }

  void add_signature(const Graph& graph, const std::vector<std::int32_t>& inputs,
                     const std::vector<std::int32_t>& outputs) {
    std::vector<Offset<schema::TensorMap>> in, out;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      in.push_back(schema::CreateTensorMap(builder_, text(graph.name_of(graph.inputs[i])),
                                           static_cast<std::uint32_t>(inputs[i])));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      out.push_back(
          schema::CreateTensorMap(builder_, text(graph.outputs[o].name), static_cast<std::uint32_t>(outputs[o])));
    const auto key = text("serving_default");
    const auto given = builder_.CreateVector(in), computed = builder_.CreateVector(out);
    signature_ = schema::CreateSignatureDef(builder_, given, computed, key, 0);
  }

  // ---- tensors

  Offset<flatbuffers::String> text(std::string_view content) {
    return builder_.CreateString(content.data(), content.size());
  }

  Offset<schema::Tensor> write_tensor(const foreign::Value& value, const foreign::Tensor* constant) {
    const ElementType elem = constant ? constant->elem : value.type ? value.type->elem : ElementType::undefined;
    const auto type = type_number(elem);
    if (!type) fault(fmt::format("tensor {} has a type of elements that the format does not know", quote(value.name)));
    std::vector<std::int32_t> sizes, signature;
    bool has_open = false;
    const auto add_size = [&](std::int64_t size) {
      if (size > std::numeric_limits<std::int32_t>::max())
        fault(fmt::format("tensor {} has an axis of more than 31 bits", quote(value.name)));
      has_open = has_open || size < 0;
      sizes.push_back(size < 0 ? 1 : static_cast<std::int32_t>(size));
      signature.push_back(size < 0 ? -1 : static_cast<std::int32_t>(size));
    };
    const bool has_shape = constant || (value.type && value.type->shape);
    if (constant)
      for (const std::int64_t size : constant->dims) add_size(size);
    else if (has_shape)
      for (const foreign::Size& size : *value.type->shape) add_size(size.constant);
    const auto name = text(value.name);
    const auto quantization = value.quantization ? write_quantization(*value.quantization) : 0;
    const auto shape = builder_.CreateVector(sizes);
    const auto shape_signature = has_open ? builder_.CreateVector(signature) : 0;
    schema::TensorBuilder tensor(builder_);
    tensor.add_shape(shape);
    tensor.add_type(type.value_or(0));
    tensor.add_buffer(constant ? buffer_of(*constant) : 0);
    tensor.add_name(name);
    if (value.quantization) tensor.add_quantization(quantization);
    if (has_open) tensor.add_shape_signature(shape_signature);
    tensor.add_has_rank(has_shape);
    return tensor.Finish();
  }

  Offset<schema::QuantizationParameters> write_quantization(const foreign::Quantization& quantization) {
    const auto scales = builder_.CreateVector(quantization.scales);
    const auto zero_points = builder_.CreateVector(quantization.zero_points);
    schema::QuantizationParametersBuilder parameters(builder_);
    parameters.add_scale(scales);
    parameters.add_zero_point(zero_points);
    parameters.add_quantized_dimension(static_cast<std::int32_t>(quantization.axis));
    return parameters.Finish();
  }

  /// Tensors of the same bytes in the same order share a buffer.
  std::uint32_t buffer_of(const foreign::Tensor& tensor) {
    if (tensor.bytes.empty()) return 0;
    const auto [known, is_new] =
        buffers_.try_emplace({tensor.bytes.data(), tensor.bytes.size(), tensor.stored_dims, tensor.order},
                             static_cast<std::uint32_t>(contents_.size()));
    if (is_new) contents_.push_back(tensor);
    return known->second;
  }

  // ---- operators

  std::uint32_t code_of(std::string_view op) {
    const auto [known, is_new] = codes_.try_emplace(op, static_cast<std::uint32_t>(operators_.size()));
    if (!is_new) return known->second;
    const auto& all = schema::EnumValuesBuiltinOperator();
    const auto found = std::find_if(std::begin(all), std::end(all), [&](schema::BuiltinOperator code) {
      return op == schema::EnumNameBuiltinOperator(code);
    });
    if (found == std::end(all)) fault(fmt::format("operator {} is unknown", op));
    operators_.push_back(found == std::end(all) ? schema::BuiltinOperator_CUSTOM : *found);
    return known->second;
  }

  static std::int32_t place_of(const Argument& argument, const std::vector<std::int32_t>& places) {
    const auto* id = argument.as<ValueId>();
    return id && *id != ValueId::none ? places[index_of(*id)] : -1;
  }

  Offset<schema::Operator> write_operator(const foreign::Node& node, const std::vector<std::int32_t>& places) {
    const std::uint32_t code = code_of(node.op);
    std::vector<std::int32_t> inputs, outputs;
    for (const Argument& argument : node.arguments) {
      if (argument.is_none() || argument.as<ValueId>()) inputs.push_back(place_of(argument, places));
      const auto* list = argument.as<Argument::List>();
      if (!list || list->empty() || !list->front().as<ValueId>()) continue;
      for (const Argument& item : *list) inputs.push_back(place_of(item, places));
    }
    while (!inputs.empty() && inputs.back() == -1) inputs.pop_back();
    for (const ValueId output : node.outputs)
      outputs.push_back(output == ValueId::none ? -1 : places[index_of(output)]);
    const OptionNumber number = [this](const Argument& argument) { return number_of(argument); };
    const auto options = write_options(builder_, operators_[code], node.arguments, number);
    const auto in = builder_.CreateVector(inputs), out = builder_.CreateVector(outputs);
    schema::OperatorBuilder made(builder_);
    made.add_opcode_index(code);
    made.add_inputs(in);
    made.add_outputs(out);
    if (options.type != schema::BuiltinOptions_NONE) {
      made.add_builtin_options_type(options.type);
      made.add_builtin_options(options.table);
    }
    return made.Finish();
  }

  /// An option as a number: types of elements and graphs have numbers, too.
  double number_of(const Argument& argument) {
    if (const auto* elem = argument.as<ElementType>()) return type_number(*elem).value_or(0);
    if (const auto* body = argument.as<std::unique_ptr<Graph>>()) return indices_.at(body->get());
    if (const auto* flag = argument.as<bool>()) return *flag ? 1 : 0;
    if (const auto* integer = argument.as<std::int64_t>()) return static_cast<double>(*integer);
    const auto* real = argument.as<double>();
    return real ? *real : 0;
  }

  // ---- the file

  void finish(const std::vector<Offset<schema::SubGraph>>& graphs) {
    std::vector<Offset<schema::OperatorCode>> codes;
    constexpr std::int32_t largest_old_code = 127;
    for (const schema::BuiltinOperator code : operators_)
      codes.push_back(
          schema::CreateOperatorCode(builder_, static_cast<std::int8_t>(std::min<std::int32_t>(code, largest_old_code)),
                                     0, version_of(code), code));
    std::vector<Offset<schema::Metadata>> entries;
    for (const auto& [key, value] : model_.metadata) {
      foreign::Tensor& content = contents_.emplace_back();
      content.bytes = std::as_bytes(std::span(value));
      entries.push_back(schema::CreateMetadata(builder_, text(key), static_cast<std::uint32_t>(contents_.size() - 1)));
    }
    std::vector<Offset<schema::Buffer>> buffers;
    for (std::size_t b = 0; b < contents_.size(); ++b) {
      const flatbuffers::uoffset_t start = builder_.StartTable();
      if (!contents_[b].bytes.empty() && is_outside_) {
        builder_.AddElement<std::uint64_t>(schema::Buffer::VT_OFFSET, 0, 1);
        builder_.AddElement<std::uint64_t>(schema::Buffer::VT_SIZE, contents_[b].bytes.size(), 0);
      } else if (!contents_[b].bytes.empty()) {
        builder_.AddElement<flatbuffers::uoffset_t>(schema::Buffer::VT_DATA, 0, 1);
      }
      buffers.emplace_back(builder_.EndTable(start));
    }
    const auto all_codes = builder_.CreateVector(codes);
    const auto all_graphs = builder_.CreateVector(graphs);
    const auto all_buffers = builder_.CreateVector(buffers);
    const auto metadata = entries.empty() ? 0 : builder_.CreateVector(entries);
    const auto signatures = builder_.CreateVector(&signature_, 1);
    const auto description = text("onnxkit");
    schema::ModelBuilder model(builder_);
    model.add_version(3);
    model.add_operator_codes(all_codes);
    model.add_subgraphs(all_graphs);
    model.add_description(description);
    model.add_buffers(all_buffers);
    if (!entries.empty()) model.add_metadata(metadata);
    model.add_signature_defs(signatures);
    builder_.Finish(model.Finish(), schema::ModelIdentifier());
  }

  /// The lowest version that runtimes know of the operator.
  static std::int32_t version_of(schema::BuiltinOperator code) {
    return code == schema::BuiltinOperator_BROADCAST_TO ? 2 : 1;
  }

  /// Contents of buffers follow the tables, whose offsets to them are filled in now.
  Result<void> write_file(const ByteSink& sink) {
    std::uint8_t* tables = builder_.GetBufferPointer();
    const std::uint64_t size = builder_.GetSize();
    const schema::Model* root = schema::GetModel(tables);
    std::vector<std::uint64_t> paddings(contents_.size(), 0);
    const std::uint64_t length_size = is_outside_ ? 0 : sizeof(std::uint32_t);
    std::uint64_t position = size;
    for (std::size_t b = 0; b < contents_.size(); ++b) {
      if (contents_[b].bytes.empty()) continue;
      paddings[b] = padding_behind(position + length_size);
      position += paddings[b];
      fill_in(tables, *root->buffers()->Get(static_cast<flatbuffers::uoffset_t>(b)), position);
      position += length_size + contents_[b].bytes.size();
    }
    if (auto done = sink({reinterpret_cast<const char*>(tables), size}); !done) return done;
    const std::string zeros(buffer_alignment, '\0');
    for (std::size_t b = 0; b < contents_.size(); ++b) {
      if (contents_[b].bytes.empty()) continue;
      std::string before = zeros.substr(0, paddings[b]);
      if (!is_outside_) {
        std::uint32_t length = 0;
        flatbuffers::WriteScalar(&length, static_cast<std::uint32_t>(contents_[b].bytes.size()));
        before.append(reinterpret_cast<const char*>(&length), sizeof length);
      }
      if (auto done = sink(before); !done) return done;
      if (auto done = write_content(contents_[b], sink); !done) return done;
    }
    return {};
  }

  static Result<void> write_content(const foreign::Tensor& content, const ByteSink& sink) {
    const auto text_of = [](std::span<const std::byte> bytes) {
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    if (content.order.empty()) return sink(text_of(content.bytes));
    Result<void> done;
    const bool is_whole = layout::permute_in_blocks(content.elem, content.stored_dims, content.bytes, content.order,
                                                    [&](std::span<const std::byte> block) {
                                                      done = sink(text_of(block));
                                                      return done.ok();
                                                    });
    if (!is_whole && done.ok())
      return make_error("not-supported",
                        fmt::format("tensor {} cannot be put into another order", quote(content.name)));
    return done;
  }

  void fill_in(std::uint8_t* tables, const schema::Buffer& buffer, std::uint64_t position) const {
    const auto& table = reinterpret_cast<const flatbuffers::Table&>(buffer);
    const std::uint8_t* field = table.GetAddressOf(is_outside_ ? schema::Buffer::VT_OFFSET : schema::Buffer::VT_DATA);
    const auto place = static_cast<std::uint64_t>(field - tables);
    if (is_outside_)
      flatbuffers::WriteScalar(tables + place, position);
    else
      flatbuffers::WriteScalar(tables + place, static_cast<flatbuffers::uoffset_t>(position - place));
  }

  void fault(std::string message) {
    if (!fault_) fault_ = make_error("not-supported", std::move(message));
  }

  const foreign::Model& model_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<const Graph*> graphs_;
  std::unordered_map<const Graph*, std::int32_t> indices_;
  std::vector<foreign::Tensor> contents_;  ///< by buffer
  using Content = std::tuple<const std::byte*, std::size_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::map<Content, std::uint32_t> buffers_;
  std::vector<schema::BuiltinOperator> operators_;  ///< by operator code
  std::map<std::string_view, std::uint32_t> codes_;
  Offset<schema::SignatureDef> signature_;
  std::optional<Error> fault_;
  bool is_outside_ = false;  ///< contents lie behind the FlatBuffer
};

}  // namespace

Result<void> write_program(const foreign::Model& model, const ByteSink& sink) {
  return TfliteWriter(model).write(sink);
}

}  // namespace onnxkit::tflite
