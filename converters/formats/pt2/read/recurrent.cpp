// Recurrent networks. The weights of a layer are put into ONNX's order of gates, both directions behind each other.
#include <array>
#include <span>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// Which of PyTorch's gates ONNX has at each place.
struct Cell {
  std::string_view op;
  std::span<const std::size_t> gates;
  std::string_view activation = {};  ///< empty: those that ONNX has without being told
};

constexpr std::array<std::size_t, 4> lstm_gates = {0, 3, 1, 2};  // i f g o -> i o f c
constexpr std::array<std::size_t, 3> gru_gates = {1, 0, 2};      // r z n -> z r h
constexpr std::array<std::size_t, 1> plain_gates = {0};
constexpr Cell lstm{"LSTM", lstm_gates};
constexpr Cell gru{"GRU", gru_gates};
constexpr Cell tanh_cell{"RNN", plain_gates, "Tanh"};
constexpr Cell relu_cell{"RNN", plain_gates, "Relu"};

/// The parameters of one layer in one direction: W, R and their biases.
struct Parameters {
  Val input, state, input_bias, state_bias;
};

/// The bytes of a weight, its gates in another order.
std::string in_order(std::span<const std::byte> bytes, std::span<const std::size_t> gates) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t gate = all.size() / gates.size();
  std::string ordered;
  for (const std::size_t from : gates) ordered += all.substr(from * gate, gate);
  return ordered;
}

/// Weights of all directions as one constant.
Val joined_weights(Call& call, const Cell& cell, const std::vector<std::vector<Val>>& directions,
                   std::vector<std::int64_t> dims) {
  std::string bytes;
  ElementType type = ElementType::undefined;
  for (const std::vector<Val>& parts : directions) {
    for (const Val part : parts) {
      const auto known = call.onnx.initializer_bytes(part);
      if (!known || known->size() % cell.gates.size() != 0) {
        call.refuse("the weights of a recurrent network are not constants");
        return {};
      }
      type = call.onnx.elem(part);
      bytes += in_order(*known, cell.gates);
    }
  }
  dims.insert(dims.begin(), static_cast<std::int64_t>(directions.size()));
  return call.onnx.owned_initializer(std::string(call.node.name) + ".weights", type, std::move(dims), std::move(bytes));
}

struct Layer {
  Val output, hidden, memory;
};

Layer one_layer(Call& call, const Cell& cell, Val x, Val lengths, const std::vector<Parameters>& directions, Val hidden,
                Val memory) {
  auto& onnx = call.onnx;
  const auto width = onnx.size(directions.front().state, 1), inputs = onnx.size(directions.front().input, 1);
  if (!width || !inputs) {
    call.refuse("the sizes of the weights are not known");
    return {};
  }
  const auto rows = *width * static_cast<std::int64_t>(cell.gates.size());
  std::vector<std::vector<Val>> w, r, b;
  for (const Parameters& p : directions) {
    w.push_back({p.input});
    r.push_back({p.state});
    b.push_back({p.input_bias, p.state_bias});
  }
  const bool has_bias = static_cast<bool>(directions.front().input_bias);
  const std::vector<Val> operands = {x,
                                     joined_weights(call, cell, w, {rows, *inputs}),
                                     joined_weights(call, cell, r, {rows, *width}),
                                     has_bias ? joined_weights(call, cell, b, {2 * rows}) : Val{},
                                     lengths,
                                     hidden,
                                     memory};
  const std::string direction = directions.size() == 2 ? "bidirectional" : "forward";
  std::vector<ir::Attr> attributes = {{"hidden_size", *width}, {"direction", direction}};
  if (!cell.activation.empty())
    attributes.push_back({"activations", std::vector<std::string>(directions.size(), std::string(cell.activation))});
  if (cell.op == "GRU") attributes.push_back({"linear_before_reset", std::int64_t{1}});
  const auto results = onnx.emit_many(cell.op == "LSTM" ? 3 : 2, cell.op, operands, attributes);
  // [steps, directions, batch, width] to [steps, batch, directions * width]
  Layer layer;
  layer.output = directions.size() == 2 ? onnx.reshape(onnx.transpose(results[0], {0, 2, 1, 3}), {0, 0, -1})
                                        : onnx.squeeze(results[0], {1});
  layer.hidden = results[1];
  if (cell.op == "LSTM") layer.memory = results[2];
  return layer;
}

Val states_of_layer(Call& call, Val all, std::int64_t layer, std::int64_t directions) {
  auto& onnx = call.onnx;
  return onnx.emit("Slice", {all, onnx.integers({layer * directions}), onnx.integers({(layer + 1) * directions}),
                             onnx.integers({0})});
}

void map_recurrent(Call& call, const Cell& cell, Val hidden, Val memory) {
  auto& onnx = call.onnx;
  Val x = call.tensor("input");
  if (call.flag("train", false) && call.real("dropout", 0) != 0)
    return call.refuse("dropout draws random numbers", "call eval() on the module before exporting it");
  if (call.rank(x) != 3) return call.refuse("a recurrent network without a batch");
  const Val lengths = call.has("lengths") ? onnx.cast(call.tensor("lengths"), ElementType::int32) : Val{};
  const std::vector<Val> parameters = call.tensors("params");
  const std::int64_t layers = call.integer("num_layers", 1), directions = call.flag("bidirectional", false) ? 2 : 1;
  const std::size_t each = call.flag("has_biases", true) ? 4 : 2;
  if (layers < 1 || layers > static_cast<std::int64_t>(parameters.size()) ||
      parameters.size() != each * static_cast<std::size_t>(layers * directions))
    return call.refuse("a recurrent network with projections, or with another number of weights");
  if (call.flag("batch_first", false)) x = onnx.transpose(x, {1, 0, 2});
  std::vector<Val> last_hidden, last_memory;
  for (std::int64_t i = 0; i < layers; ++i) {
    std::vector<Parameters> weights;
    for (std::int64_t d = 0; d < directions; ++d) {
      const Val* p = &parameters[each * static_cast<std::size_t>(i * directions + d)];
      weights.push_back({p[0], p[1], each == 4 ? p[2] : Val{}, each == 4 ? p[3] : Val{}});
    }
    const Val first_memory = memory ? states_of_layer(call, memory, i, directions) : Val{};
    const Layer layer =
        one_layer(call, cell, x, lengths, weights, states_of_layer(call, hidden, i, directions), first_memory);
    if (call.refused()) return;
    x = layer.output;
    last_hidden.push_back(layer.hidden);
    if (memory) last_memory.push_back(layer.memory);
  }
  const auto all = [&](const std::vector<Val>& parts) {
    return parts.size() == 1 ? parts.front() : onnx.emit("Concat", parts, {{"axis", std::int64_t{0}}});
  };
  std::vector<Val> results = {call.flag("batch_first", false) ? onnx.transpose(x, {1, 0, 2}) : x, all(last_hidden)};
  if (memory) results.push_back(all(last_memory));
  call.results(results);
}

void map_lstm(Call& call) {
  const std::vector<Val> states = call.tensors("hx");
  if (states.size() != 2) return call.refuse("two states are wanted");
  map_recurrent(call, lstm, states[0], states[1]);
}

void map_gru(Call& call) { map_recurrent(call, gru, call.tensor("hx"), {}); }
void map_tanh_network(Call& call) { map_recurrent(call, tanh_cell, call.tensor("hx"), {}); }
void map_relu_network(Call& call) { map_recurrent(call, relu_cell, call.tensor("hx"), {}); }

}  // namespace

void register_recurrent(Mappings& mappings);
void register_recurrent(Mappings& mappings) {
  mappings.add("aten.lstm.input", map_lstm);
  mappings.add("aten.gru.input", map_gru);
  mappings.add("aten.rnn_tanh.input", map_tanh_network);
  mappings.add("aten.rnn_relu.input", map_relu_network);
  // TorchScript's code on packed sequences, as its reader writes it: rows of the lengths that `lengths` has.
  mappings.add("prim.packed_lstm.default", map_lstm);
  mappings.add("prim.packed_gru.default", map_gru);
  mappings.add("prim.packed_rnn_tanh.default", map_tanh_network);
  mappings.add("prim.packed_rnn_relu.default", map_relu_network);
}

}  // namespace onnxkit::pt2
