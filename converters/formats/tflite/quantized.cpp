#include "converters/formats/tflite/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "converters/formats/tflite/fuse.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::Quantization;
using foreign::Tensor;
using foreign::ValueId;

enum class Scales : std::uint8_t {
  own,       ///< those of each value
  equal,     ///< the same for all values
  positive,  ///< 1 / 256 and -128 for the result
  weighted   ///< weights around 0, which may have a scale for each channel
};
struct Kernel {
  std::string_view op;
  std::size_t operands;  ///< the first arguments; 0: a list
  Scales scales;
};
constexpr Kernel kernels[] = {
    {"CONV_2D", 2, Scales::weighted},
    {"DEPTHWISE_CONV_2D", 2, Scales::weighted},
    {"FULLY_CONNECTED", 2, Scales::weighted},
    {"ADD", 2, Scales::own},
    {"SUB", 2, Scales::own},
    {"MUL", 2, Scales::own},
    {"MEAN", 1, Scales::own},
    {"RELU", 1, Scales::own},
    {"RELU6", 1, Scales::own},
    {"LEAKY_RELU", 1, Scales::own},
    {"HARD_SWISH", 1, Scales::own},
    {"LOGISTIC", 1, Scales::positive},
    {"SOFTMAX", 1, Scales::positive},
    {"MAX_POOL_2D", 1, Scales::equal},
    {"AVERAGE_POOL_2D", 1, Scales::equal},
    {"RESHAPE", 1, Scales::equal},
    {"TRANSPOSE", 1, Scales::equal},
    {"SQUEEZE", 1, Scales::equal},
    {"EXPAND_DIMS", 1, Scales::equal},
    {"PAD", 1, Scales::equal},
    {"RESIZE_BILINEAR", 1, Scales::equal},
    {"RESIZE_NEAREST_NEIGHBOR", 1, Scales::equal},
    {"STRIDED_SLICE", 1, Scales::equal},
    {"CONCATENATION", 0, Scales::equal},
};

ValueId value_of(const Argument& argument) {
  const auto* id = argument.as<ValueId>();
  return id ? *id : ValueId::none;
}

class IntegerComputation {
 public:
  IntegerComputation(foreign::Model& model, Graph& graph) : model_(model), graph_(graph) {}

  void run() {
    carry_through_moves();
    find();
    write_bytes_as_signed();
    move_integers();
    find();
    for (Node& node : graph_.nodes) {
      const auto* kernel =
          std::find_if(std::begin(kernels), std::end(kernels), [&](const Kernel& row) { return row.op == node.op; });
      if (kernel != std::end(kernels)) compute(node, *kernel);
    }
    for (Tensor& tensor : made_) graph_.tensors.push_back(std::move(tensor));
    std::erase_if(graph_.nodes, [](const Node& node) { return node.op.empty(); });
  }

 private:
  void find() {
    reads_ = count_reads(graph_);
    producer_.assign(graph_.values.size(), -1);
    reader_.assign(graph_.values.size(), -1);
    constant_.assign(graph_.values.size(), -1);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId output : graph_.nodes[n].outputs)
        if (output != ValueId::none) producer_[index_of(output)] = static_cast<std::int64_t>(n);
      for (const Argument& argument : graph_.nodes[n].arguments)
        if (const ValueId id = value_of(argument); id != ValueId::none)
          reader_[index_of(id)] = static_cast<std::int64_t>(n);
    }
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t)
      constant_[index_of(graph_.tensors[t].value)] = static_cast<std::int64_t>(t);
  }

  Node* at(const std::vector<std::int64_t>& nodes, ValueId id) {
    const std::int64_t n = id == ValueId::none ? -1 : nodes[index_of(id)];
    return n < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(n)];
  }
  foreign::Value& value(ValueId id) { return graph_.values[index_of(id)]; }
  Tensor* constant(ValueId id) {
    const std::int64_t t = constant_[index_of(id)];
    return t < 0 ? nullptr : &graph_.tensors[static_cast<std::size_t>(t)];
  }
  ElementType elem(ValueId id) { return value(id).type ? value(id).type->elem : ElementType::undefined; }

  /// Integers between two nodes that only move elements stand for what those before and behind them do.
  void carry_through_moves() {
    for (const Node& node : graph_.nodes) {
      const ValueId from = node.arguments.empty() ? ValueId::none : first_value(node.arguments[0]);
      if (from == ValueId::none || !value(from).quantization || value(from).quantization->is_per_axis()) continue;
      for (const ValueId to : node.outputs)
        if (to != ValueId::none && elem(to) == elem(from) && !value(to).quantization)
          value(to).quantization = value(from).quantization;
    }
  }
  static ValueId first_value(const Argument& argument) {
    const auto* list = argument.as<Argument::List>();
    if (!list) return value_of(argument);
    return list->empty() ? ValueId::none : value_of(list->front());
  }

  // ---- uint8 as int8

  void write_bytes_as_signed() {
    std::vector<bool> is_read_otherwise(graph_.values.size(), false);
    for (const Node& node : graph_.nodes)
      for (const Argument& argument : node.arguments)
        if (const ValueId id = value_of(argument); id != ValueId::none && node.op != "DEQUANTIZE")
          is_read_otherwise[index_of(id)] = true;
    for (const foreign::Output& output : graph_.outputs) is_read_otherwise[index_of(output.value)] = true;
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const ValueId id{static_cast<std::uint32_t>(v)};
      if (elem(id) != ElementType::uint8 || !value(id).quantization || is_read_otherwise[v]) continue;
      const Node* producer = at(producer_, id);
      Tensor* stored = constant(id);
      if (!stored && (!producer || producer->op != "QUANTIZE")) continue;
      if (stored) shift(*stored);
      value(id).type->elem = ElementType::int8;
      for (std::int64_t& zero_point : value(id).quantization->zero_points) zero_point -= 128;
    }
  }

  void shift(Tensor& tensor) {
    std::string bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    for (char& byte : bytes) byte = static_cast<char>(byte ^ '\x80');
    tensor.bytes = std::as_bytes(std::span(model_.strings->keep(bytes).view()));
    tensor.elem = ElementType::int8;
  }

  // ---- what only moves elements

  /// A TRANSPOSE or RESHAPE of what DEQUANTIZE gives becomes one of its integers, with a DEQUANTIZE behind.
  void move_integers() {
    std::vector<Node> nodes;
    std::vector<ValueId> source(graph_.values.size(), ValueId::none);  // by value, what DEQUANTIZE makes it of
    for (Node& node : graph_.nodes) {
      const ValueId integers = moved_integers(node, source);
      if (integers == ValueId::none) {
        if (node.op == "DEQUANTIZE") source[index_of(node.outputs[0])] = value_of(node.arguments[0]);
        nodes.push_back(std::move(node));
        continue;
      }
      const ValueId result = node.outputs[0];
      const std::string name = std::string(graph_.name_of(result)) + "_int8";
      auto type = value(result).type;
      if (type) type->elem = ElementType::int8;
      const ValueId moved = graph_.add_value(model_.strings->keep(name).view(), std::move(type));
      value(moved).quantization = value(integers).quantization;
      node.arguments[0].content = integers;
      node.outputs[0] = moved;
      nodes.push_back(std::move(node));
      Node& back = nodes.emplace_back();
      back.op = "DEQUANTIZE";
      Argument& given = back.arguments.emplace_back();
      given.name = "x";
      given.content = moved;
      back.outputs = {result};
      source[index_of(result)] = moved;
    }
    graph_.nodes = std::move(nodes);
  }

  /// What such a node can move instead of its input; none when it is another node.
  ValueId moved_integers(const Node& node, const std::vector<ValueId>& source) {
    static constexpr std::string_view movers[] = {"TRANSPOSE", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"};
    if (std::find(std::begin(movers), std::end(movers), node.op) == std::end(movers)) return ValueId::none;
    const ValueId x = value_of(node.arguments[0]);
    const ValueId integers = x == ValueId::none ? x : source[index_of(x)];
    if (integers == ValueId::none || elem(integers) != ElementType::int8) return ValueId::none;
    const auto& quantization = value(integers).quantization;
    return quantization && !quantization->is_per_axis() ? integers : ValueId::none;
  }

  // ---- operators

  /// The integers that a real value is made of; none when it is not.
  ValueId integers_of(ValueId id) {
    const Node* node = at(producer_, id);
    if (!node || node->op != "DEQUANTIZE") return ValueId::none;
    const ValueId integers = value_of(node->arguments[0]);
    return elem(integers) == ElementType::int8 && value(integers).quantization ? integers : ValueId::none;
  }

  void compute(Node& node, const Kernel& kernel) {
    if (node.outputs.size() != 1 || reads_[index_of(node.outputs[0])] != 1) return;
    Node* quantize = at(reader_, node.outputs[0]);
    if (!quantize || quantize->op != "QUANTIZE" || elem(quantize->outputs[0]) != ElementType::int8) return;
    std::vector<Argument*> operands;
    if (kernel.operands == 0)
      for (Argument& item : std::get<Argument::List>(node.arguments[0].content)) operands.push_back(&item);
    else
      for (std::size_t i = 0; i < kernel.operands; ++i) operands.push_back(&node.arguments[i]);
    std::vector<ValueId> integers;
    for (const Argument* operand : operands) {
      const ValueId id = value_of(*operand);
      integers.push_back(id == ValueId::none ? id : integers_of(id));
      if (integers.back() == ValueId::none) return;
    }
    const ValueId result = quantize->outputs[0];
    if (!fits(node, kernel, integers, result)) return;
    if (kernel.scales == Scales::weighted && !quantize_bias(node, integers[0], integers[1])) return;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i]->content = integers[i];
    node.outputs[0] = result;
    quantize->op = {};  // goes
    quantize->arguments.clear();
    quantize->outputs.clear();
    producer_[index_of(result)] = &node - graph_.nodes.data();
  }

  bool fits(const Node& node, const Kernel& kernel, const std::vector<ValueId>& integers, ValueId result) {
    const Quantization& given = *value(result).quantization;
    if (given.is_per_axis()) return false;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const Quantization& own = *value(integers[i]).quantization;
      const bool is_weight = kernel.scales == Scales::weighted && i == 1;
      if (!is_weight && own.is_per_axis()) return false;
      if (kernel.scales == Scales::equal && !(own == given)) return false;
      if (!is_weight) continue;
      const auto is_zero = [](std::int64_t zero_point) { return zero_point == 0; };
      if (!std::all_of(own.zero_points.begin(), own.zero_points.end(), is_zero) || !constant(integers[i])) return false;
      const std::int64_t axis = node.op == "DEPTHWISE_CONV_2D" ? 3 : 0;
      if (own.is_per_axis() && own.axis != axis) return false;
    }
    if (kernel.scales != Scales::positive) return true;
    return given.scales[0] == 1.0F / 256 && given.zero_points[0] == -128;
  }

  /// A stored bias as int32 with the scales of its products.
  bool quantize_bias(Node& node, ValueId x, ValueId weights) {
    Argument& bias = node.arguments[2];
    const ValueId id = value_of(bias);
    if (id == ValueId::none) return true;
    const Tensor* stored = constant(id);
    if (!stored || stored->elem != ElementType::float32) return false;
    std::vector<double> reals(stored->bytes.size() / sizeof(float));
    decode(stored->elem, stored->bytes, std::span(reals));
    const Quantization &own = *value(x).quantization, &filter = *value(weights).quantization;
    Quantization made;
    std::vector<std::int64_t> integers;
    constexpr double most = std::numeric_limits<std::int32_t>::max();
    for (std::size_t c = 0; c < reals.size(); ++c) {
      if (filter.is_per_axis() && c >= filter.scales.size()) return false;
      const float scale = own.scales[0] * filter.scales[filter.is_per_axis() ? c : 0];
      const double steps = std::nearbyint(reals[c] / static_cast<double>(scale));
      if (!(std::abs(steps) <= most)) return false;
      integers.push_back(static_cast<std::int64_t>(steps));
      if (c == 0 || filter.is_per_axis()) made.scales.push_back(scale);
    }
    made.zero_points.assign(made.scales.size(), 0);
    std::string bytes(integers.size() * sizeof(std::int32_t), '\0');
    encode(ElementType::int32, std::span<const std::int64_t>(integers),
           std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    const std::string_view name = model_.strings->keep(std::string(graph_.name_of(id)) + "_int32").view();
    const ValueId quantized = graph_.add_value(name);
    value(quantized).quantization = std::move(made);
    made_.push_back({quantized,
                     name,
                     ElementType::int32,
                     {static_cast<std::int64_t>(reals.size())},
                     std::as_bytes(std::span(model_.strings->keep(bytes).view()))});
    bias.content = quantized;
    reads_.push_back(1);
    producer_.push_back(-1);
    reader_.push_back(-1);
    constant_.push_back(-1);
    return true;
  }

  foreign::Model& model_;
  Graph& graph_;
  std::vector<std::size_t> reads_;
  std::vector<std::int64_t> producer_, reader_, constant_;  ///< by value
  std::vector<Tensor> made_;
};

}  // namespace

void compute_on_integers(foreign::Model& model) { IntegerComputation(model, model.graph).run(); }

}  // namespace onnxkit::to_tflite
