// LSTM, GRU and RNN.
#include <algorithm>
#include <array>
#include <string>

#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

/// How a cell of PyTorch orders what ONNX stacks.
struct Cell {
  std::string_view op;
  std::vector<std::size_t> gates;  ///< ONNX's gate at each of PyTorch's places
  std::vector<std::string_view> activations;
  bool has_cell_state = false;
};

/// What PyTorch's cells do not do.
bool is_plain(WriteCall& call, const Cell& cell) {
  if (call.has_attribute("clip")) call.refuse("it clips its gates, which PyTorch's recurrent layers do not do");
  if (call.integer("input_forget", 0) != 0) call.refuse("its input and forget gates are coupled");
  if (call.has(7)) call.refuse("it has peepholes, which PyTorch's recurrent layers lack");
  if (call.has(4)) {
    const auto lengths = call.known_integers(4);
    const bool is_whole = lengths && call.size(0, 0) &&
                          std::all_of(lengths->begin(), lengths->end(), [&](Int n) { return n == call.size(0, 0); });
    if (!is_whole) call.refuse("its sequences have lengths of their own", "remove sequence_lens where all are whole");
  }
  const ir::Attribute* given = call.node.find_attribute("activations");
  const auto* names = given ? given->as<std::vector<Text>>() : nullptr;
  for (std::size_t i = 0; names && i < names->size(); ++i)
    if ((*names)[i].view() != cell.activations[i % cell.activations.size()])
      call.refuse("its activations are not those of PyTorch's recurrent layers");
  if (call.has_attribute("activation_alpha") || call.has_attribute("activation_beta"))
    call.refuse("its activations have parameters, which those of PyTorch lack");
  return !call.refused();
}

/// Of one direction, the gates in PyTorch's order; `first` is the part of the second axis where they begin (a bias holds two sets).
ValueId gates_of(WriteCall& call, std::size_t input, Int direction, const Cell& cell, Int size, Int first) {
  const ElementType elem = call.elem(0);
  const auto count = static_cast<Int>(cell.gates.size());
  const std::optional<foreign::Tensor> stored = call.stored(input);
  if (stored && stored->dims.size() >= 2 && stored->dims[0] > direction && stored->dims[1] > 0) {
    const std::size_t row = stored->bytes.size() / static_cast<std::size_t>(stored->dims[0] * stored->dims[1]);
    const auto* begin = reinterpret_cast<const char*>(stored->bytes.data());
    std::string bytes;
    for (const std::size_t gate : cell.gates) {
      const auto place =
          static_cast<std::size_t>(direction * stored->dims[1] + first) + gate * static_cast<std::size_t>(size);
      const std::size_t length = row * static_cast<std::size_t>(size);
      if (place * row + length > stored->bytes.size()) {
        call.refuse("its weights are too short");
        return ValueId::none;
      }
      bytes.append(begin + place * row, length);
    }
    Ints dims = {count * size};
    dims.insert(dims.end(), stored->dims.begin() + 2, stored->dims.end());
    return call.tensor(elem, dims, std::move(bytes));
  }
  const ValueId one = select(call, call.input(input), 0, direction);
  std::vector<ValueId> parts;
  for (const std::size_t gate : cell.gates) {
    const Int begin = first + static_cast<Int>(gate) * size;
    parts.push_back(slice(call, one, 0, begin, begin + size, Dim(size)));
  }
  Type type = call.type_of(parts.front());
  if (type.shape) (*type.shape)[0] = Dim(count * size);
  return concat(call, parts, 0, type);
}

/// The parameters of all directions as PyTorch lists them.
std::vector<ValueId> parameters(WriteCall& call, const Cell& cell, Int directions, Int size) {
  std::vector<ValueId> list;
  for (Int direction = 0; direction < directions; ++direction) {
    list.push_back(gates_of(call, 1, direction, cell, size, 0));
    list.push_back(gates_of(call, 2, direction, cell, size, 0));
    if (!call.has(3)) continue;
    list.push_back(gates_of(call, 3, direction, cell, size, 0));
    list.push_back(gates_of(call, 3, direction, cell, size, static_cast<Int>(cell.gates.size()) * size));
  }
  return list;
}

struct Sizes {
  Dim times, batches;
  Int directions = 1, hidden = 0;
};

/// The first states, zeros where none are given.
ValueId first_state(WriteCall& call, std::size_t input, const Sizes& sizes) {
  if (call.has(input))
    return call.integer("layout", 0) != 0
               ? call.emit("aten.transpose.int", {{"self", call.input(input)}, {"dim0", Int{0}}, {"dim1", Int{1}}},
                           Type::tensor(call.elem(0)))
               : call.input(input);
  return full(call, {Dim(sizes.directions), sizes.batches, Dim(sizes.hidden)}, 0, call.elem(0));
}

ValueId state_result(WriteCall& call, ValueId state, std::size_t output) {
  if (call.integer("layout", 0) == 0) return state;
  return call.emit("aten.transpose.int", {{"self", state}, {"dim0", Int{0}}, {"dim1", Int{1}}},
                   call.output_type(output));
}

/// [times, batches, directions * hidden] as ONNX has it.
ValueId all_states(WriteCall& call, ValueId y, const Sizes& sizes, bool is_reverse) {
  const bool batch_first = call.integer("layout", 0) != 0;
  if (is_reverse) y = flip(call, y, batch_first ? 1 : 0);
  const Dim first = batch_first ? sizes.batches : sizes.times, second = batch_first ? sizes.times : sizes.batches;
  const ValueId split = reshape(call, y, {first, second, Dim(sizes.directions), Dim(sizes.hidden)});
  return batch_first ? split : permute(call, split, {0, 2, 1, 3});
}

void run_cell(WriteCall& call, const Cell& cell) {
  const bool batch_first = call.integer("layout", 0) != 0;
  const std::string_view direction = call.text("direction", "forward");
  if (call.rank(0) != 3 || call.rank(2) != 3) return call.refuse("its input has not three axes");
  const auto hidden = call.size(2, 2);
  if (!hidden) return call.refuse("the size of its state is not known");
  if (!is_plain(call, cell)) return;
  const Shape& in = *call.shape(0);
  const Sizes sizes{.times = in[batch_first ? 1 : 0],
                    .batches = in[batch_first ? 0 : 1],
                    .directions = direction == "bidirectional" ? 2 : 1,
                    .hidden = *hidden};
  ValueId x = call.input(0);
  if (direction == "reverse") x = flip(call, x, batch_first ? 1 : 0);
  std::vector<Given> given = {{"input", x}};
  const ValueId h = first_state(call, 5, sizes);
  if (cell.has_cell_state)
    given.push_back({"hx", std::vector<ValueId>{h, first_state(call, 6, sizes)}});
  else
    given.push_back({"hx", h});
  given.push_back({"params", parameters(call, cell, sizes.directions, *hidden)});
  given.push_back({"has_biases", call.has(3)});
  given.push_back({"num_layers", Int{1}});
  given.push_back({"dropout", 0.0});
  given.push_back({"train", false});
  given.push_back({"bidirectional", sizes.directions == 2});
  given.push_back({"batch_first", batch_first});
  const Type state = Type::tensor(call.elem(0), {Dim(sizes.directions), sizes.batches, Dim(*hidden)});
  const Type whole = Type::tensor(call.elem(0), {in[0], in[1], Dim(sizes.directions * *hidden)});
  std::vector<Type> types = {whole, state};
  if (cell.has_cell_state) types.push_back(state);
  const std::vector<ValueId> found = call.emit_many(cell.op, std::move(given), types);
  std::vector<ValueId> results(call.outputs(), ValueId::none);
  if (call.has_output(0)) results[0] = all_states(call, found[0], sizes, direction == "reverse");
  for (std::size_t o = 1; o < call.outputs() && o < found.size(); ++o)
    if (call.has_output(o)) results[o] = state_result(call, found[o], o);
  call.results(results);
}

void map_lstm(WriteCall& call) {
  run_cell(call, {.op = "aten.lstm.input",
                  .gates = {0, 2, 3, 1},
                  .activations = {"Sigmoid", "Tanh", "Tanh"},
                  .has_cell_state = true});
}

/// The sizes of a GRU, and its parts of one direction.
struct Gru {
  Sizes sizes;
  Int times = 0;
  ValueId from_input = ValueId::none;                    ///< products of the input, of all gates and times
  ValueId weight = ValueId::none, bias = ValueId::none;  ///< of the state
};

ValueId linear(WriteCall& call, ValueId x, ValueId weight, ValueId bias, Type type) {
  return call.emit("aten.linear.default", {{"input", x}, {"weight", weight}, {"bias", bias}}, std::move(type));
}

/// The state behind one step, whose reset gate works before the product.
ValueId gru_step(WriteCall& call, const Gru& gru, ValueId given, ValueId h) {
  const Int size = gru.sizes.hidden;
  const Type type = call.type_of(h);
  const auto part = [&](ValueId x, Int axis, Int gate) {
    return x == ValueId::none ? x : slice(call, x, axis, gate * size, (gate + 1) * size, Dim(size));
  };
  const auto gate = [&](Int which, ValueId state) {
    const ValueId product = linear(call, state, part(gru.weight, 0, which), part(gru.bias, 0, which), type);
    return binary(call, "aten.add.Tensor", part(given, 1, which), product, type);
  };
  const ValueId update = unary(call, "aten.sigmoid.default", gate(0, h));
  const ValueId reset = unary(call, "aten.sigmoid.default", gate(1, h));
  const ValueId fresh = unary(call, "aten.tanh.default", gate(2, binary(call, "aten.mul.Tensor", reset, h, type)));
  const ValueId change = binary(call, "aten.sub.Tensor", h, fresh, type);
  return binary(call, "aten.add.Tensor", fresh, binary(call, "aten.mul.Tensor", update, change, type), type);
}

/// The states of one direction, each with a new first axis.
std::vector<ValueId> gru_states(WriteCall& call, const Gru& gru, ValueId h, bool is_reverse) {
  std::vector<ValueId> states(static_cast<std::size_t>(gru.times));
  for (Int i = 0; i < gru.times; ++i) {
    const Int time = is_reverse ? gru.times - 1 - i : i;
    h = gru_step(call, gru, select(call, gru.from_input, 0, time), h);
    states[static_cast<std::size_t>(time)] = unsqueeze(call, h, {0});
  }
  return states;
}

/// One step after the other, written out.
void write_out_gru(WriteCall& call) {
  constexpr Int most_times = 512;
  const bool batch_first = call.integer("layout", 0) != 0;
  if (call.rank(0) != 3 || call.rank(2) != 3) return call.refuse("its input has not three axes");
  const auto times = call.size(0, batch_first ? 1 : 0), hidden = call.size(2, 2);
  if (!times || !hidden || *times < 1 || *times > most_times)
    return call.refuse("its reset gate works before the product, and the number of its steps is not known",
                       "give the length of the sequence by --input-shape");
  if (!is_plain(call, {.op = {}, .gates = {}, .activations = {"Sigmoid", "Tanh"}})) return;
  const std::string_view direction = call.text("direction", "forward");
  const Shape& in = *call.shape(0);
  Gru gru{.sizes = {.times = Dim(*times),
                    .batches = in[batch_first ? 0 : 1],
                    .directions = direction == "bidirectional" ? 2 : 1,
                    .hidden = *hidden},
          .times = *times};
  const ElementType elem = call.elem(0);
  const ValueId x = batch_first ? permute(call, call.input(0), {1, 0, 2}) : call.input(0);
  const ValueId first = first_state(call, 5, gru.sizes);
  const Int rows = 3 * *hidden;
  std::vector<ValueId> wholes, lasts;
  for (Int d = 0; d < gru.sizes.directions; ++d) {
    const ValueId biases = call.has(3) ? select(call, call.input(3), 0, d) : ValueId::none;
    const ValueId input_bias = call.has(3) ? slice(call, biases, 0, 0, rows, Dim(rows)) : ValueId::none;
    gru.bias = call.has(3) ? slice(call, biases, 0, rows, 2 * rows, Dim(rows)) : ValueId::none;
    gru.weight = select(call, call.input(2), 0, d);
    gru.from_input = linear(call, x, select(call, call.input(1), 0, d), input_bias,
                            Type::tensor(elem, {gru.sizes.times, gru.sizes.batches, Dim(rows)}));
    const bool is_reverse = direction == "reverse" || d == 1;
    const std::vector<ValueId> states = gru_states(call, gru, select(call, first, 0, d), is_reverse);
    lasts.push_back(is_reverse ? states.front() : states.back());
    const ValueId whole =
        concat(call, states, 0, Type::tensor(elem, {gru.sizes.times, gru.sizes.batches, Dim(*hidden)}));
    wholes.push_back(unsqueeze(call, whole, {1}));
  }
  const ValueId y = concat(call, wholes, 1, Type::tensor(elem));
  const ValueId last = concat(call, lasts, 0, Type::tensor(elem));
  std::vector<ValueId> results = {y, state_result(call, last, 1)};
  if (batch_first) results[0] = permute(call, y, {2, 0, 1, 3});
  call.results(results);
}

void map_gru(WriteCall& call) {
  if (call.integer("linear_before_reset", 0) == 0) return write_out_gru(call);
  run_cell(call, {.op = "aten.gru.input", .gates = {1, 0, 2}, .activations = {"Sigmoid", "Tanh"}});
}

void map_rnn(WriteCall& call) {
  const ir::Attribute* given = call.node.find_attribute("activations");
  const auto* names = given ? given->as<std::vector<Text>>() : nullptr;
  const bool is_relu = names && !names->empty() && names->front().view() == "Relu";
  run_cell(call, {.op = is_relu ? "aten.rnn_relu.input" : "aten.rnn_tanh.input",
                  .gates = {0},
                  .activations = {is_relu ? "Relu" : "Tanh"}});
}

}  // namespace

void register_recurrent(Writers& writers);
void register_recurrent(Writers& writers) {
  writers.add("LSTM", map_lstm);
  writers.add("GRU", map_gru);
  writers.add("RNN", map_rnn);
}

}  // namespace onnxkit::aten
