#include "converters/formats/tflite/integer_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/formats/tflite/integer_graph.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::to_tflite {
namespace {

/// Operators whose elements are some of those of their first argument, or of a list.
constexpr std::string_view movers[] = {
    "TRANSPOSE", "RESHAPE", "SQUEEZE", "EXPAND_DIMS",   "STRIDED_SLICE",           "SLICE",
    "GATHER",    "SPLIT",   "SPLIT_V", "CONCATENATION", "RESIZE_NEAREST_NEIGHBOR", "MAX_POOL_2D",
    "PAD",       "PADV2"};
/// Those that have as many elements behind as before, so that quantizing before them is no more work.
constexpr std::string_view rearrangers[] = {"TRANSPOSE", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"};

template <std::size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view op) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

class IntegerMoves {
 public:
  explicit IntegerMoves(foreign::Model& model) : given_(model) {}

  void run() {
    carry_through_moves();
    write_bytes_as_signed();
    quantize_earlier();
    move();
    leave_out_idle();
  }

 private:
  foreign::Graph& graph() { return given_.graph; }

  static std::vector<Argument*> moved_arguments(Node& node) {
    std::vector<Argument*> found;
    if (node.arguments.empty()) return found;
    const std::size_t data = node.op == "SPLIT" ? 1 : 0;
    if (auto* list = std::get_if<Argument::List>(&node.arguments[data].content))
      for (Argument& item : *list) found.push_back(&item);
    else
      found.push_back(&node.arguments[data]);
    return found;
  }

  /// Integers between two nodes that only move elements stand for what those before and behind them do.
  void carry_through_moves() {
    for (Node& node : graph().nodes) {
      const std::vector<Argument*> moved = moved_arguments(node);
      const ValueId from = moved.empty() ? ValueId::none : value_of(*moved[0]);
      if (from == ValueId::none) continue;
      const auto& quantization = given_.value(from).quantization;
      if (!quantization || quantization->is_per_axis()) continue;
      for (const ValueId to : node.outputs)
        if (to != ValueId::none && given_.elem(to) == given_.elem(from) && !given_.value(to).quantization)
          given_.value(to).quantization = Quantization(*quantization);
    }
  }

  // ---- uint8 as int8

  /// All bytes that rearranging nodes connect, with QUANTIZE or stored ones before them and DEQUANTIZE behind them.
  std::vector<bool> bytes_to_change() {
    std::vector<bool> found(graph().values.size(), false);
    for (std::size_t v = 0; v < found.size(); ++v) {
      const ValueId id{static_cast<std::uint32_t>(v)};
      const Node* producer = given_.producer(id);
      found[v] =
          given_.elem(id) == ElementType::uint8 && given_.value(id).quantization &&
          (given_.constant(id) || (producer && (producer->op == "QUANTIZE" || is_among(rearrangers, producer->op))));
    }
    for (const foreign::Output& output : graph().outputs) found[index_of(output.value)] = false;
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      const auto drop = [&](ValueId id) {
        if (id == ValueId::none || !found[index_of(id)]) return;
        found[index_of(id)] = false;
        is_changed = true;
      };
      for (const Node& node : graph().nodes) drop_around(node, found, drop);
    }
    return found;
  }

  template <typename Drop>
  static void drop_around(const Node& node, const std::vector<bool>& found, const Drop& drop) {
    const bool moves = is_among(rearrangers, node.op);
    const auto is_found = [&](ValueId id) { return id != ValueId::none && found[index_of(id)]; };
    const bool is_whole = moves && is_found(value_of(node.arguments[0])) && is_found(node.outputs[0]);
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      if (node.op == "DEQUANTIZE" || (is_whole && i == 0)) continue;
      drop(value_of(node.arguments[i]));
      if (const auto* list = node.arguments[i].as<Argument::List>())
        for (const Argument& item : *list) drop(value_of(item));
    }
    if (moves && !is_whole) drop(node.outputs[0]);
  }

  void write_bytes_as_signed() {
    const std::vector<bool> found = bytes_to_change();
    for (std::size_t v = 0; v < found.size(); ++v) {
      if (!found[v]) continue;
      const ValueId id{static_cast<std::uint32_t>(v)};
      if (Tensor* stored = given_.constant(id)) shift(*stored);
      given_.value(id).type->elem = ElementType::int8;
      for (std::int64_t& zero_point : given_.value(id).quantization->zero_points) zero_point -= 128;
    }
  }

  void shift(Tensor& tensor) {
    std::string bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    for (char& byte : bytes) byte = static_cast<char>(byte ^ '\x80');
    tensor.bytes = std::as_bytes(std::span(given_.model.strings->keep(bytes).view()));
    tensor.elem = ElementType::int8;
  }

  // ---- QUANTIZE before what rearranges

  /// The operator before a TRANSPOSE or RESHAPE can then compute on integers.
  void quantize_earlier() {
    for (std::size_t n = 0; n < graph().nodes.size(); ++n) {
      std::size_t place = n;
      while (const std::optional<std::size_t> before = place_before(place)) place = *before;
      if (place != n) given_.index();
    }
  }

  /// Exchanges a QUANTIZE with the node whose result it reads, and gives its new place.
  std::optional<std::size_t> place_before(std::size_t place) {
    Node& quantize = graph().nodes[place];
    if (quantize.op != "QUANTIZE" || given_.elem(quantize.outputs[0]) != ElementType::int8) return std::nullopt;
    const ValueId moved = value_of(quantize.arguments[0]);
    Node* mover = given_.producer(moved);
    if (!mover || !is_among(rearrangers, mover->op) || given_.reads(moved) != 1) return std::nullopt;
    const ValueId real = value_of(mover->arguments[0]), result = quantize.outputs[0];
    if (real == ValueId::none || given_.elem(real) != ElementType::float32) return std::nullopt;
    const ValueId integers = given_.add_integers_of(real, Quantization(*given_.value(result).quantization));
    quantize.arguments[0].content = real;
    quantize.outputs[0] = integers;
    mover->arguments[0].content = integers;
    mover->outputs[0] = result;
    std::swap(*mover, quantize);
    const auto to = static_cast<std::size_t>(mover - graph().nodes.data());
    given_.index();
    return to;
  }

  // ---- DEQUANTIZE behind what moves

  void move() {
    std::vector<Node> nodes;
    source_.assign(graph().values.size(), ValueId::none);
    for (Node& node : graph().nodes) {
      const std::vector<ValueId> integers = integers_to_move(node);
      if (integers.empty()) {
        if (node.op == "DEQUANTIZE" && given_.elem(value_of(node.arguments[0])) == ElementType::int8)
          source_[index_of(node.outputs[0])] = value_of(node.arguments[0]);
        nodes.push_back(std::move(node));
        continue;
      }
      const Quantization quantization = *given_.value(integers[0]).quantization;
      if (node.op == "PADV2") node.arguments[2].content = filling_of(node, quantization);
      const std::vector<Argument*> moved = moved_arguments(node);
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i]->content = integers[i];
      std::vector<Node> back;
      for (ValueId& output : node.outputs) back.push_back(dequantize(output, quantization));
      nodes.push_back(std::move(node));
      std::move(back.begin(), back.end(), std::back_inserter(nodes));
    }
    graph().nodes = std::move(nodes);
    given_.index();
  }

  /// Makes an output of a node integers, and gives the node that makes the real numbers of them.
  Node dequantize(ValueId& output, const Quantization& quantization) {
    const ValueId result = output;
    output = given_.add_integers_of(result, quantization);
    source_.resize(graph().values.size(), ValueId::none);
    source_[index_of(result)] = output;
    Node node;
    node.op = "DEQUANTIZE";
    Argument& given = node.arguments.emplace_back();
    given.name = "x";
    given.content = output;
    node.outputs = {result};
    return node;
  }

  /// What such a node can move instead of its input; nothing when it is another node.
  std::vector<ValueId> integers_to_move(Node& node) {
    if (!is_among(movers, node.op) || node.find("fused_activation_function")) return {};
    std::vector<ValueId> found;
    for (const Argument* argument : moved_arguments(node)) {
      const ValueId x = value_of(*argument);
      const ValueId integers = x == ValueId::none ? x : source_[index_of(x)];
      if (integers == ValueId::none) return {};
      const auto& quantization = given_.value(integers).quantization;
      if (!quantization || quantization->is_per_axis()) return {};
      if (!found.empty() && !(*quantization == *given_.value(found[0]).quantization)) return {};
      found.push_back(integers);
    }
    if (node.op == "PADV2" && !found.empty() && !filling(node, *given_.value(found[0]).quantization)) return {};
    return found;
  }

  /// The integer that stands for what PADV2 fills with. The least one does for a maximum, which takes none of it.
  std::optional<std::int64_t> filling(const Node& node, const Quantization& quantization) {
    const Tensor* stored = given_.constant(value_of(node.arguments[2]));
    if (!stored || stored->elem != ElementType::float32 || stored->bytes.size() != sizeof(float)) return std::nullopt;
    double real = 0;
    decode(stored->elem, stored->bytes, std::span(&real, 1));
    const Node* reader = given_.reader(node.outputs[0]);
    if (real == std::numeric_limits<float>::lowest() && given_.reads(node.outputs[0]) == 1 && reader &&
        reader->op == "MAX_POOL_2D")
      return std::numeric_limits<std::int8_t>::min();
    const double steps = real / static_cast<double>(quantization.scales[0]);
    const double integer = steps + static_cast<double>(quantization.zero_points[0]);
    if (steps != std::nearbyint(steps) || !(integer >= -128 && integer <= 127)) return std::nullopt;
    return static_cast<std::int64_t>(integer);
  }

  ValueId filling_of(const Node& node, const Quantization& quantization) {
    const auto integer = static_cast<std::int8_t>(filling(node, quantization).value_or(0));
    const ValueId made = given_.add_integers_of(value_of(node.arguments[2]), quantization);
    const std::string_view bytes = given_.model.strings->keep(std::string(1, static_cast<char>(integer))).view();
    graph().tensors.push_back({made, graph().name_of(made), ElementType::int8, {}, std::as_bytes(std::span(bytes))});
    given_.value(made).type = foreign::TensorType{ElementType::int8, std::vector<foreign::Size>{}};
    return made;
  }

  // ---- QUANTIZE behind DEQUANTIZE

  /// Integers that were made real numbers and become the same integers.
  void leave_out_idle() {
    std::vector<ValueId> instead(graph().values.size(), ValueId::none);
    std::vector<bool> is_output(graph().values.size(), false);
    for (const foreign::Output& output : graph().outputs) is_output[index_of(output.value)] = true;
    for (Node& node : graph().nodes) {
      for (Argument& argument : node.arguments) replace(argument, instead);
      if (node.op != "QUANTIZE" || is_output[index_of(node.outputs[0])]) continue;
      const ValueId integers = given_.integers_of(value_of(node.arguments[0])), result = node.outputs[0];
      if (integers == ValueId::none || given_.elem(result) != ElementType::int8) continue;
      if (!(given_.value(integers).quantization == given_.value(result).quantization)) continue;
      instead[index_of(result)] = integers;
      node.op = {};  // goes
    }
    std::erase_if(graph().nodes, [](const Node& node) { return node.op.empty(); });
    given_.index();
  }

  static void replace(Argument& argument, const std::vector<ValueId>& instead) {
    if (auto* list = std::get_if<Argument::List>(&argument.content))
      for (Argument& item : *list) replace(item, instead);
    const ValueId id = value_of(argument);
    if (id != ValueId::none && instead[index_of(id)] != ValueId::none) argument.content = instead[index_of(id)];
  }

  IntegerGraph given_;
  std::vector<ValueId> source_;  ///< by value, the integers that DEQUANTIZE makes it of
};

}  // namespace

void move_integers(foreign::Model& model) { IntegerMoves(model).run(); }

}  // namespace onnxkit::to_tflite
