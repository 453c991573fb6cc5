// RNN, GRU, LSTM with g gates (1, 3, 4), D directions (1, or 2 when bidirectional) and H hidden units:
//   X [time, batch, I], W [D, g*H, I], R [D, g*H, H], B [D, 2*g*H], lengths [batch], first state and cell [D, batch, H], P [D, 3*H]
//   Y [time, D, batch, H], last state and cell [D, batch, H]
// With layout = 1, since version 14, the batch comes first in X, Y and the states.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

struct Cell {
  std::int64_t gates;
  std::int64_t activations;
};

struct Sizes {
  Dim time, batch, features, hidden, directions;
  bool batch_first = false;

  Shape state() const { return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden}; }
  Shape sequence() const {
    return batch_first ? Shape{batch, time, directions, hidden} : Shape{time, directions, batch, hidden};
  }
};

/// What the weight R is made for, when its own sizes agree with each other.
std::optional<Dim> hidden_of_recurrence(InferContext& context, const Cell& cell) {
  const Shape* r = context.input_shape(2);
  if (!r || r->size() != 3 || (*r)[2].is_unknown()) return std::nullopt;
  const Dim rows = context.dims().mul((*r)[2], cell.gates);
  return context.sizes_clash(rows, (*r)[1]) ? std::nullopt : std::optional((*r)[2]);
}

Dim hidden_size(InferContext& context, const Cell& cell) {
  const auto from_weight = hidden_of_recurrence(context, cell);
  if (!context.has_attribute("hidden_size")) {
    if (from_weight) return *from_weight;
    const Shape* w = context.input_shape(1);
    return w && w->size() == 3 ? context.dims().exact_div((*w)[1], cell.gates).value_or(Dim()) : Dim();
  }
  const std::int64_t stated = context.integer("hidden_size");
  if (!require_in_range(context, "hidden_size", stated, 1)) return from_weight.value_or(Dim());
  if (!from_weight || !context.sizes_clash(*from_weight, stated)) return stated;
  context.error({.code = "shape-mismatch",
                 .at = at_attribute("hidden_size"),
                 .message = "the weights do not match hidden_size",
                 .expected = fmt::format("{}, because input 2 is {}", context.text(*from_weight),
                                         context.text(*context.input_shape(2))),
                 .found = std::to_string(stated)});
  return *from_weight;
}

/// Unknown for a text that is no direction, which a rule of its own reports.
Dim directions(InferContext& context) {
  const std::string_view text = context.string("direction");
  if (text == "bidirectional") return 2;
  const bool single = text == "forward" || text == "reverse" || text == "foward";  // GRU-1 spells its default so
  return single ? Dim(1) : Dim();
}

Sizes read_sizes(InferContext& context, const Cell& cell) {
  Sizes sizes;
  sizes.directions = directions(context);
  sizes.batch_first = context.integer("layout") == 1;
  if (const Shape* x = context.input_shape(0); x && x->size() == 3) {
    sizes.time = (*x)[sizes.batch_first ? 1 : 0];
    sizes.batch = (*x)[sizes.batch_first ? 0 : 1];
    sizes.features = (*x)[2];
  } else if (const Shape* w = context.input_shape(1); w && w->size() == 3) {
    sizes.features = (*w)[2];
  }
  sizes.hidden = hidden_size(context, cell);
  return sizes;
}

void check_weights(InferContext& context, const Cell& cell, const Sizes& sizes) {
  DimPool& dims = context.dims();
  const Dim rows = dims.mul(sizes.hidden, cell.gates);
  require_shape(context, 1, {sizes.directions, rows, sizes.features},
                fmt::format("W must be [directions, {} * hidden_size, features]", cell.gates));
  require_shape(context, 2, {sizes.directions, rows, sizes.hidden},
                fmt::format("R must be [directions, {} * hidden_size, hidden_size]", cell.gates));
  require_shape(context, 3, {sizes.directions, dims.mul(rows, 2)}, "B must hold the biases of W, then those of R");
  require_shape(context, 4, {sizes.batch}, "there must be one length per sequence");
  require_shape(context, 5, sizes.state(), "there must be one initial state per direction and sequence");
}

void check_activations(InferContext& context, const Cell& cell, const Sizes& sizes) {
  const auto* activations = context.list_as_written<Text>("activations");  // RNN's default is a list for two directions
  const Dim expected = context.dims().mul(sizes.directions, cell.activations);
  if (!activations || activations->empty() || !expected.is_constant()) return;
  if (expected.is(static_cast<std::int64_t>(activations->size()))) return;
  context.error(
      {.code = "attribute-value",
       .at = at_attribute("activations"),
       .message = fmt::format("{} requires {} activations per direction", context.schema().name, cell.activations),
       .expected = fmt::format("{} names", expected.constant()),
       .found = fmt::format("{} names", activations->size())});
}

void infer_recurrent(InferContext& context, const Cell& cell) {
  if (!require_in_range(context, "layout", context.integer("layout"), 0, 1) || rank_differs(context, 0, 3)) return;
  const Sizes sizes = read_sizes(context, cell);
  check_weights(context, cell, sizes);
  check_activations(context, cell, sizes);
  context.set_shape(0, sizes.sequence());
  context.set_shape(1, sizes.state());
  if (cell.gates != 4) return;
  require_shape(context, 6, sizes.state(), "there must be one initial cell state per direction and sequence");
  require_shape(context, 7, {sizes.directions, context.dims().mul(sizes.hidden, 3)},
                "there must be three peephole weights per hidden unit");
  context.set_shape(2, sizes.state());
}

void infer_rnn(InferContext& context) { infer_recurrent(context, {.gates = 1, .activations = 1}); }
void infer_gru(InferContext& context) { infer_recurrent(context, {.gates = 3, .activations = 2}); }
void infer_lstm(InferContext& context) { infer_recurrent(context, {.gates = 4, .activations = 3}); }

}  // namespace

void register_recurrent(InferRegistry& registry) {
  registry.add("RNN", all_versions(), infer_rnn, {.cost = cost::recurrent, .inputs = {{4, Role::length}}});
  registry.add("GRU", all_versions(), infer_gru, {.cost = cost::recurrent, .inputs = {{4, Role::length}}});
  registry.add("LSTM", all_versions(), infer_lstm, {.cost = cost::recurrent, .inputs = {{4, Role::length}}});
}

}  // namespace onnxkit::checker
