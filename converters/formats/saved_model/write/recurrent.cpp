// Recurrent layers over sequences of a known length, step by step.
#include <algorithm>

#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

constexpr std::int64_t most_steps = 256;

/// One place along the first axis.
ValueId row(WriteCall& call, ValueId x, std::int64_t at) {
  Type type = call.type_of(x);
  const std::size_t rank = rank_of(call, x);
  std::vector<std::optional<std::int64_t>> ends(rank);
  Ints begins(rank, 0);
  begins[0] = at;
  ends[0] = at + 1;
  (*type.shape)[0] = Dim(1);
  const ValueId one = part(call, x, begins, ends, Ints(rank, 1), Type(type));
  type.shape->erase(type.shape->begin());
  return squeeze(call, one, {0}, std::move(type));
}

/// A part of the last axis.
ValueId columns(WriteCall& call, ValueId x, std::int64_t first, std::int64_t count) {
  Type type = call.type_of(x);
  const std::size_t rank = rank_of(call, x);
  std::vector<std::optional<std::int64_t>> ends(rank);
  Ints begins(rank, 0);
  begins.back() = first;
  ends.back() = first + count;
  type.shape->back() = Dim(count);
  return part(call, x, begins, ends, Ints(rank, 1), std::move(type));
}

ValueId stacked(WriteCall& call, std::vector<ValueId> values, std::int64_t axis) {
  Type type = call.type_of(values.front());
  type.shape->insert(type.shape->begin() + axis, Dim(static_cast<std::int64_t>(values.size())));
  return call.emit("Pack", {{"values", std::move(values)}, {"axis", axis}}, std::move(type));
}

/// x times the transpose of a matrix.
ValueId times(WriteCall& call, ValueId x, ValueId weights) {
  Type type = call.type_of(x);
  type.shape->back() = (*call.type_of(weights).shape)[0];
  if (type.shape->size() == 2)
    return call.emit("MatMul", {{"a", x}, {"b", weights}, {"transpose_b", true}}, std::move(type));
  return call.emit("BatchMatMulV2", {{"x", x}, {"y", weights}, {"adj_y", true}}, std::move(type));
}

ValueId sum(WriteCall& call, ValueId a, ValueId b) { return binary(call, "AddV2", a, b); }
ValueId product(WriteCall& call, ValueId a, ValueId b) { return binary(call, "Mul", a, b); }

struct State {
  ValueId h = ValueId::none, c = ValueId::none;
};

/// One direction of a layer.
class Direction {
 public:
  Direction(WriteCall& call, std::int64_t hidden, std::int64_t at) : call_(call), hidden_(hidden), at_(at) {
    op_ = call.node.op_type.view();
    weights_ = row(call, call.input(2), at);
    if (call.has(3)) bias_ = row(call, call.input(3), at);
    if (call.has(7)) peepholes_ = row(call, call.input(7), at);
    gates_ = op_ == "LSTM" ? 4 : op_ == "GRU" ? 3 : 1;
  }

  /// What the sequence adds to the gates, for all steps at once.
  ValueId projected(ValueId sequence) {
    ValueId gates = times(call_, sequence, row(call_, call_.input(1), at_));
    if (bias_ == ValueId::none) return gates;
    gates = sum(call_, gates, columns(call_, bias_, 0, gates_ * hidden_));
    return op_ == "GRU" ? gates : sum(call_, gates, columns(call_, bias_, gates_ * hidden_, gates_ * hidden_));
  }

  State step(ValueId gates, const State& before) {
    if (op_ == "LSTM") return lstm_step(gates, before);
    if (op_ == "GRU") return {gru_step(gates, before.h), ValueId::none};
    return {unary(call_, "Tanh", sum(call_, gates, times(call_, before.h, weights_))), ValueId::none};
  }

 private:
  ValueId sigmoid(ValueId x) { return unary(call_, "Sigmoid", x); }
  ValueId gate(ValueId gates, std::int64_t place) { return columns(call_, gates, place * hidden_, hidden_); }
  ValueId looked(ValueId gate, ValueId cell, std::int64_t place) {
    if (peepholes_ == ValueId::none) return gate;
    return sum(call_, gate, product(call_, cell, columns(call_, peepholes_, place * hidden_, hidden_)));
  }

  /// Gates are input, output, forget, cell; peepholes input, output, forget.
  State lstm_step(ValueId projected, const State& before) {
    const ValueId gates = sum(call_, projected, times(call_, before.h, weights_));
    const ValueId input = sigmoid(looked(gate(gates, 0), before.c, 0));
    const ValueId forget = sigmoid(looked(gate(gates, 2), before.c, 2));
    const ValueId candidate = unary(call_, "Tanh", gate(gates, 3));
    State after;
    after.c = sum(call_, product(call_, forget, before.c), product(call_, input, candidate));
    const ValueId output = sigmoid(looked(gate(gates, 1), after.c, 1));
    after.h = product(call_, output, unary(call_, "Tanh", after.c));
    return after;
  }

  /// Weights of some gates, rows of the matrix.
  ValueId weights_of(std::int64_t first, std::int64_t count) {
    Type type = call_.type_of(weights_);
    (*type.shape)[0] = Dim(count * hidden_);
    return part(call_, weights_, {first * hidden_, 0}, {(first + count) * hidden_, std::nullopt}, {1, 1},
                std::move(type));
  }
  ValueId with_recurrent_bias(ValueId x, std::int64_t first, std::int64_t count) {
    return bias_ == ValueId::none ? x
                                  : sum(call_, x, columns(call_, bias_, (gates_ + first) * hidden_, count * hidden_));
  }

  /// Gates are update, reset, candidate.
  ValueId gru_step(ValueId projected, ValueId h) {
    const ValueId both = sum(call_, columns(call_, projected, 0, 2 * hidden_),
                             with_recurrent_bias(times(call_, h, weights_of(0, 2)), 0, 2));
    const ValueId update = sigmoid(gate(both, 0)), reset = sigmoid(gate(both, 1));
    const bool resets_last = call_.integer("linear_before_reset", 0) != 0;
    const ValueId recurrent = resets_last
                                  ? product(call_, reset, with_recurrent_bias(times(call_, h, weights_of(2, 1)), 2, 1))
                                  : with_recurrent_bias(times(call_, product(call_, reset, h), weights_of(2, 1)), 2, 1);
    const ValueId candidate = unary(call_, "Tanh", sum(call_, gate(projected, 2), recurrent));
    // (1 - z) n + z h
    return sum(call_, candidate, product(call_, update, binary(call_, "Sub", h, candidate)));
  }

  WriteCall& call_;
  std::int64_t hidden_, at_, gates_ = 1;
  std::string_view op_;
  ValueId weights_ = ValueId::none, bias_ = ValueId::none, peepholes_ = ValueId::none;
};

/// Whether it states no other activations than those that it has by itself, for each direction.
bool has_default_activations(const WriteCall& call) {
  const ir::Attribute* given = call.node.find_attribute("activations");
  const auto* names = given ? given->as<std::vector<Text>>() : nullptr;
  const bool is_gated = call.node.op_type != "RNN";
  const std::size_t functions = call.node.op_type == "LSTM" ? 3 : is_gated ? 2 : 1;
  for (std::size_t i = 0; names && i < names->size(); ++i)
    if ((*names)[i].view() != (is_gated && i % functions == 0 ? "Sigmoid" : "Tanh")) return false;
  return true;
}

bool can_be_written(WriteCall& call) {
  if (call.has(4)) call.refuse("its sequences have lengths of their own");
  if (!has_default_activations(call)) call.refuse("it has other activations than Sigmoid and Tanh in their places");
  if (call.has_attribute("clip")) call.refuse("it bounds what goes into its activations");
  if (call.integer("input_forget", 0) != 0) call.refuse("its input and forget gates are one");
  return !call.refused() && is_real(call);
}

void map_recurrent(WriteCall& call) {
  const bool is_batch_first = call.integer("layout", 0) != 0;
  const std::string_view direction = call.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const auto steps = call.size(0, is_batch_first ? 1 : 0), hidden = call.size(2, 2);
  if (!can_be_written(call)) return;
  if (!steps || *steps < 1 || *steps > most_steps)
    return call.refuse("how many steps it takes is not known, or more than 256", "state the length of the sequence");
  for (std::size_t input = 0; input < call.node.inputs.size(); ++input)
    if (call.has(input)) call.rank(input);
  if (!hidden || call.refused()) return call.refuse("the shapes of its weights are not known");
  const auto outside = [&](ValueId x) { return is_batch_first ? transpose(call, x, {1, 0, 2}) : x; };
  const ValueId sequence = outside(call.input(0));
  const Dim batch = (*call.type_of(sequence).shape)[1];
  const auto start = [&](std::size_t input, std::int64_t at) {
    if (call.has(input)) return row(call, outside(call.input(input)), at);
    const Shape shape = {batch, Dim(*hidden)};
    const ValueId sizes = sizes_vector(call, shape);
    return fill(call, sizes, call.scalar(call.elem(0), 0), Type::tensor(call.elem(0), shape));
  };
  std::vector<ValueId> all, last_h, last_c;
  for (std::int64_t d = 0; d < directions; ++d) {
    Direction one(call, *hidden, d);
    const bool is_reverse = direction == "reverse" || d == 1;
    const ValueId gates = one.projected(sequence);
    const bool has_cell = call.node.op_type == "LSTM";
    State state{start(5, d), has_cell ? start(6, d) : ValueId::none};
    std::vector<ValueId> results;
    for (std::int64_t t = 0; t < *steps && !call.refused(); ++t) {
      state = one.step(row(call, gates, is_reverse ? *steps - 1 - t : t), state);
      results.push_back(state.h);
    }
    if (call.refused()) return;
    if (is_reverse) std::reverse(results.begin(), results.end());
    all.push_back(stacked(call, std::move(results), 0));
    last_h.push_back(state.h);
    if (has_cell) last_c.push_back(state.c);
  }
  ValueId y = stacked(call, std::move(all), 1);
  if (is_batch_first) y = transpose(call, y, {2, 0, 1, 3});
  std::vector<ValueId> results = {y, outside(stacked(call, std::move(last_h), 0))};
  if (!last_c.empty()) results.push_back(outside(stacked(call, std::move(last_c), 0)));
  call.results(results);
}

}  // namespace

void register_recurrent(Writers& writers);
void register_recurrent(Writers& writers) { writers.add({"LSTM", "GRU", "RNN"}, map_recurrent); }

}  // namespace onnxkit::to_tensorflow
