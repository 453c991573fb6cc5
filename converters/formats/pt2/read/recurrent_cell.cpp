// One step of a recurrent network: PyTorch's own cells.
#include <vector>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// input W^T + bias or the same of the state, its gates one behind the other.
Val gates_of(Call& call, Val x, std::string_view weight, std::string_view bias) {
  auto& onnx = call.onnx;
  const Val product = onnx.emit("MatMul", {x, onnx.transpose(call.tensor(weight), {1, 0})});
  return call.has(bias) ? onnx.emit("Add", {product, call.tensor(bias)}) : product;
}
Val gates_of_input(Call& call) { return gates_of(call, call.tensor("input"), "w_ih", "b_ih"); }
Val gates_of_state(Call& call, Val state) { return gates_of(call, state, "w_hh", "b_hh"); }

std::vector<Val> split(Call& call, Val gates, std::int64_t count) {
  return call.onnx.emit_many(static_cast<std::size_t>(count), "Split", {gates},
                             {{"axis", std::int64_t{-1}}, {"num_outputs", count}});
}

/// The state that is next: tanh(c) o, with c = f c + i g.
void map_lstm_cell(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> states = call.tensors("hx");
  if (states.size() != 2) return call.refuse("an LSTM cell has two states");
  const Val gates = onnx.emit("Add", {gates_of_input(call), gates_of_state(call, states[0])});
  const std::vector<Val> parts = split(call, gates, 4);  // i f g o
  const Val kept = onnx.emit("Mul", {onnx.emit("Sigmoid", {parts[1]}), states[1]});
  const Val added = onnx.emit("Mul", {onnx.emit("Sigmoid", {parts[0]}), onnx.emit("Tanh", {parts[2]})});
  const Val memory = onnx.emit("Add", {kept, added});
  call.results({onnx.emit("Mul", {onnx.emit("Sigmoid", {parts[3]}), onnx.emit("Tanh", {memory})}), memory});
}

/// n + z (h - n), with n = tanh(input + r state).
void map_gru_cell(Call& call) {
  auto& onnx = call.onnx;
  const Val state = call.tensor("hx");
  const std::vector<Val> of_input = split(call, gates_of_input(call), 3);  // r z n
  const std::vector<Val> of_state = split(call, gates_of_state(call, state), 3);
  const auto sigmoid_of = [&](std::size_t gate) {
    return onnx.emit("Sigmoid", {onnx.emit("Add", {of_input[gate], of_state[gate]})});
  };
  const Val reset = onnx.emit("Mul", {sigmoid_of(0), of_state[2]});
  const Val update = sigmoid_of(1), next = onnx.emit("Tanh", {onnx.emit("Add", {of_input[2], reset})});
  call.result(onnx.emit("Add", {next, onnx.emit("Mul", {update, onnx.emit("Sub", {state, next})})}));
}

void map_plain_cell(Call& call) {
  auto& onnx = call.onnx;
  const Val sum = onnx.emit("Add", {gates_of_input(call), gates_of_state(call, call.tensor("hx"))});
  call.result(onnx.emit(call.node.op == "aten.rnn_relu_cell.default" ? "Relu" : "Tanh", {sum}));
}

}  // namespace

void register_recurrent_cell(Mappings& mappings);
void register_recurrent_cell(Mappings& mappings) {
  mappings.add("aten.lstm_cell.default", map_lstm_cell);
  mappings.add("aten.gru_cell.default", map_gru_cell);
  mappings.add({"aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default"}, map_plain_cell);
}

}  // namespace onnxkit::pt2
