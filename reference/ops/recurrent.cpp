// RNN, GRU, LSTM: one or two directions over sequences [time, batch, features]; gates stand one after the other in the rows of W and R.
//   DynamicQuantizeLSTM of com.microsoft: weights as integers, factors of products rounded to uint8 by the range that they have.
//   3: GRU's linear_before_reset. 7: output_sequence is gone; it says nothing that the omitted outputs do not. 14: layout.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "reference/kernels/contract.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

constexpr double infinity_recurrent = std::numeric_limits<double>::infinity();

struct Function {
  std::string_view name;
  double (*f)(double x, double alpha, double beta);
  double relative, absolute;  ///< roundings of a noisy run, of the result and of 1, as in noise_rule.h
  std::optional<double> alpha = {}, beta = {};  ///< defaults of those that it takes
};

constexpr auto sigmoid_recurrent = [](double x, double, double) { return 1 / (1 + std::exp(-x)); };
constexpr auto relu_recurrent = [](double x, double, double) { return x < 0 ? 0 : x; };
constexpr auto hyperbolic = [](double x, double, double) { return std::tanh(x); };
constexpr auto affine = [](double x, double alpha, double beta) { return alpha * x + beta; };
constexpr auto leaky_relu_recurrent = [](double x, double alpha, double) { return x < 0 ? alpha * x : x; };
constexpr auto thresholded_relu_recurrent = [](double x, double alpha, double) { return x < alpha ? 0 : x; };
constexpr auto scaled_tanh = [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); };
constexpr auto hard_sigmoid_recurrent = [](double x, double alpha, double beta) {
  return std::clamp(alpha * x + beta, 0.0, 1.0);
};
constexpr auto elu_recurrent = [](double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; };
constexpr auto softsign_recurrent = [](double x, double, double) { return x / (1 + std::abs(x)); };
constexpr auto softplus_recurrent = [](double x, double, double) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
};

constexpr Function functions[] = {
    {"sigmoid", sigmoid_recurrent, 3, 1},
    {"tanh", hyperbolic, 3, 0},
    {"relu", relu_recurrent, 0, 0},
    {"affine", affine, 2, 0, 1.0, 0.0},
    {"leakyrelu", leaky_relu_recurrent, 1, 0, 0.01},
    {"thresholdedrelu", thresholded_relu_recurrent, 0, 0, 1.0},
    {"scaledtanh", scaled_tanh, 4, 0, 1.0, 1.0},
    {"hardsigmoid", hard_sigmoid_recurrent, 2, 1, 0.2, 0.5},
    {"elu", elu_recurrent, 3, 2, 1.0},
    {"softsign", softsign_recurrent, 2, 0},
    {"softplus", softplus_recurrent, 3, 32},
};

struct Activation {
  const Function* function = nullptr;
  double alpha = 0, beta = 0, clip = infinity_recurrent;

  double operator()(double x) const { return unclipped(std::clamp(x, -clip, clip)); }
  double unclipped(double x) const { return function->f(x, alpha, beta); }
};

const Function& find_function(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Function& function : functions) {
    if (function.name == lower) return function;
  }
  throw Fault("unknown activation " + std::string(name));
}

/// All activations of all directions. Each takes its alpha and beta from the lists in turn, where it has any.
std::vector<Activation> read_activations(const KernelContext& context, std::vector<std::string_view> names) {
  const std::vector<float> alphas = context.reals("activation_alpha").value_or(std::vector<float>());
  const std::vector<float> betas = context.reals("activation_beta").value_or(std::vector<float>());
  const double clip = context.find_real("clip").value_or(std::numeric_limits<float>::infinity());
  require(clip >= 0, "clip must not be negative");
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> activations;
  for (const std::string_view name : names) {
    const Function& function = find_function(name);
    Activation& activation = activations.emplace_back(Activation{&function, 0, 0, clip});
    if (function.alpha) activation.alpha = alpha < alphas.size() ? alphas[alpha++] : *function.alpha;
    if (function.beta) activation.beta = beta < betas.size() ? betas[beta++] : *function.beta;
  }
  return activations;
}

struct Sizes {
  std::int64_t time, batch, features, hidden, directions;
};

/// One direction while it runs.
struct Layer {
  const KernelContext& context;
  ElementType type;
  Sizes sizes;
  std::int64_t gates;
  const double* recurrence;       ///< R: [gates * hidden, hidden]
  std::vector<double> bias;       ///< Rb: [gates * hidden]
  std::vector<double> peepholes;  ///< [3 * hidden], of input, output and forget gate
  std::span<const Activation> activations;
  Tensor inputs;                       ///< of one step: [batch, gates * hidden], X W^T + Wb
  Tensor from_state;                   ///< [batch, gates * hidden]
  Tensor h, c, next_h, next_c, reset;  ///< [batch, hidden]
  std::uint64_t next_error;            ///< of a noisy run
  bool quantizes_state = false;

  /// A result of an activation, with the errors that runtimes' own functions make.
  double rounded(const Activation& activation, double y) {
    const Noise* const noise = context.noise();
    if (!noise) return y;
    const Function& of = *activation.function;
    return y + std::hypot(of.relative * y, of.absolute) * noise->error(next_error++);
  }
  double activate(std::size_t index, double x) { return rounded(activations[index], activations[index](x)); }

  std::int64_t width() const { return gates * sizes.hidden; }

  /// to[:, gates first to last] = state * R[gates first to last]^T.
  void recur(const Tensor& state, std::int64_t first, std::int64_t last) {
    const std::int64_t hidden = sizes.hidden;
    const MatrixView<const double> r = row_major(recurrence + first * hidden * hidden, (last - first) * hidden, hidden);
    const MatrixView<double> to{from_state.write<double>().data() + first * hidden, sizes.batch,
                                (last - first) * hidden, width(), 1};
    const Tensor factor = quantizes_state ? through_uint8(context, state) : state;
    multiply_matrices<double>(context, type, row_major(factor.as<double>().data(), sizes.batch, hidden), r.transposed(),
                              to);
  }
};

using Step = void (*)(Layer& layer);

/// Sums of a gate of one row: input, state and both biases.
struct Sums {
  const double* inputs;
  const double* from_state;
  const double* bias;
  std::int64_t hidden;

  Sums(const Layer& layer, std::int64_t row)
      : inputs(layer.inputs.as<double>().data() + row * layer.width()),
        from_state(layer.from_state.as<double>().data() + row * layer.width()),
        bias(layer.bias.data()),
        hidden(layer.sizes.hidden) {}
  double input(std::int64_t gate, std::int64_t unit) const { return inputs[gate * hidden + unit]; }
  double state(std::int64_t gate, std::int64_t unit) const {
    return from_state[gate * hidden + unit] + bias[gate * hidden + unit];
  }
  double operator()(std::int64_t gate, std::int64_t unit) const { return input(gate, unit) + state(gate, unit); }
};

void rnn_step(Layer& layer) {
  layer.recur(layer.h, 0, 1);
  double* const next = layer.next_h.write<double>().data();
  for (std::int64_t row = 0; row < layer.sizes.batch; ++row) {
    const Sums sums(layer, row);
    for (std::int64_t unit = 0; unit < sums.hidden; ++unit)
      next[row * sums.hidden + unit] = layer.activate(0, sums(0, unit));
  }
}

void gru_step(Layer& layer) {
  enum Gate : std::int64_t { update, reset, candidate };
  const auto f = [&](double x) { return layer.activate(0, x); };
  const auto g = [&](double x) { return layer.activate(1, x); };
  const bool linear_before_reset = layer.context.integer("linear_before_reset") != 0;
  const std::int64_t hidden = layer.sizes.hidden;
  const double* const h = layer.h.as<double>().data();
  layer.recur(layer.h, update, linear_before_reset ? 3 : 2);
  if (!linear_before_reset) {
    double* const kept = layer.reset.write<double>().data();
    for (std::int64_t row = 0; row < layer.sizes.batch; ++row) {
      const Sums sums(layer, row);
      for (std::int64_t unit = 0; unit < hidden; ++unit)
        kept[row * hidden + unit] = f(sums(reset, unit)) * h[row * hidden + unit];
    }
    layer.recur(layer.reset, candidate, 3);
  }
  double* const next = layer.next_h.write<double>().data();
  for (std::int64_t row = 0; row < layer.sizes.batch; ++row) {
    const Sums sums(layer, row);
    for (std::int64_t unit = 0; unit < hidden; ++unit) {
      const double z = f(sums(update, unit));
      const double kept = linear_before_reset ? f(sums(reset, unit)) : 1;
      const double new_h = g(sums.input(candidate, unit) + kept * sums.state(candidate, unit));
      next[row * hidden + unit] = (1 - z) * new_h + z * h[row * hidden + unit];
    }
  }
}

void lstm_step(Layer& layer) {
  enum Gate : std::int64_t { input, output, forget, cell };
  const auto f = [&](double x) { return layer.activate(0, x); };
  const auto g = [&](double x) { return layer.activate(1, x); };
  const Activation& h = layer.activations[2];
  const bool coupled = layer.context.integer("input_forget") != 0;
  const std::int64_t hidden = layer.sizes.hidden;
  layer.recur(layer.h, input, 4);
  const double* const c = layer.c.as<double>().data();
  double* const next_h = layer.next_h.write<double>().data();
  double* const next_c = layer.next_c.write<double>().data();
  const auto peephole = [&](Gate gate, std::int64_t unit) {
    return layer.peepholes[static_cast<std::size_t>(gate * hidden + unit)];
  };
  for (std::int64_t row = 0; row < layer.sizes.batch; ++row) {
    const Sums sums(layer, row);
    for (std::int64_t unit = 0; unit < hidden; ++unit) {
      const std::int64_t at = row * hidden + unit;
      const double i = f(sums(input, unit) + peephole(input, unit) * c[at]);
      const double forgotten = coupled ? 1 - i : f(sums(forget, unit) + peephole(forget, unit) * c[at]);
      next_c[at] = forgotten * c[at] + i * g(sums(cell, unit));
      const double o = f(sums(output, unit) + peephole(output, unit) * next_c[at]);
      next_h[at] = o * layer.rounded(h, h.unclipped(next_c[at]));  // as implementations do
    }
  }
}

struct Cell {
  std::int64_t gates;
  std::vector<std::string_view> activations;  ///< by default
  Step step;
  bool has_cell_state = false;
  bool is_quantized = false;
};

/// The node with the time axis in front, whatever its layout.
struct RecurrentOperands {
  Sizes sizes;
  Tensor x, w, r;
  const Tensor* bias;
  const Tensor* peepholes;
  std::vector<std::int64_t> lengths;
  Tensor h, c;  ///< [directions, batch, hidden]
  bool batch_first;
};

constexpr std::int64_t first_two_swapped[] = {1, 0, 2};

std::int64_t direction_count(const KernelContext& context) {
  const std::string_view text = context.string("direction");
  if (text == "bidirectional") return 2;
  // GRU-1 spells its default so.
  require(text == "forward" || text == "foward" || text == "reverse",
          "direction must be forward, reverse or bidirectional");
  return 1;
}

Tensor first_state(const KernelContext& context, std::size_t input, const RecurrentOperands& o, bool exists) {
  const Dims dims = {o.sizes.directions, o.sizes.batch, o.sizes.hidden};
  const Tensor* given = exists ? context.find_input(input) : nullptr;
  if (!given) return context.make(o.x.type(), dims);
  require(given->rank() == 3, "an initial state must have rank 3");
  Tensor state = o.batch_first ? permute(context, *given, first_two_swapped) : *given;
  require(state.dims() == dims, "an initial state must be [directions, batch, hidden_size]");
  return state;
}

/// Integers [directions, depth, gates * hidden] with a scale and a zero point for each direction, or for each column of it, as the reals of LSTM:
/// [directions, gates * hidden, depth].
Tensor dequantized_weights(const KernelContext& context, std::size_t input, std::size_t scale_input) {
  const Tensor &x = context.input(input), &scale = context.input(scale_input), &zero = context.input(scale_input + 1);
  require(x.rank() == 3, "X, W and R must have rank 3");
  const auto over_depth = [&](const Tensor& given) {
    const bool by_column = given.dims() == Dims{x.dim(0), x.dim(2)};
    require(by_column || given.dims() == Dims{x.dim(0)},
            "scales and zero points must be [directions] or [directions, gates * hidden_size]");
    return given.reshaped({x.dim(0), 1, by_column ? x.dim(2) : 1});
  };
  const Tensor by = over_depth(scale), from = over_depth(zero);
  constexpr std::int64_t depth_last[] = {0, 2, 1};
  return permute(context, dequantized(context, x, &by, &from), depth_last);
}

RecurrentOperands read_operands_recurrent(const KernelContext& context, const Cell& cell) {
  RecurrentOperands o{};
  o.batch_first = !cell.is_quantized && context.integer("layout") != 0;
  o.x = cell.is_quantized ? through_uint8(context, context.input(0)) : context.input(0);
  o.w = cell.is_quantized ? dequantized_weights(context, 1, 8) : context.input(1);
  o.r = cell.is_quantized ? dequantized_weights(context, 2, 10) : context.input(2);
  require(o.x.rank() == 3 && o.w.rank() == 3 && o.r.rank() == 3, "X, W and R must have rank 3");
  if (o.batch_first) o.x = permute(context, o.x, first_two_swapped);
  o.sizes = {o.x.dim(0), o.x.dim(1), o.x.dim(2), o.r.dim(2), direction_count(context)};
  const std::int64_t directions = o.sizes.directions, hidden = o.sizes.hidden, width = o.r.dim(1);
  require(hidden > 0 && width % cell.gates == 0 && width / cell.gates == hidden,
          "R must be [directions, gates * hidden_size, hidden_size]");
  require(context.integer("hidden_size", hidden) == hidden, "the weights do not match hidden_size");
  require(o.w.dims() == Dims{directions, width, o.sizes.features} && o.r.dim(0) == directions,
          "W must be [directions, gates * hidden_size, features]");
  o.bias = context.find_input(3);
  require(!o.bias || o.bias->dims() == Dims{directions, 2 * width}, "B must be [directions, 2 * gates * hidden_size]");
  o.peepholes = cell.has_cell_state ? context.find_input(7) : nullptr;
  require(!o.peepholes || o.peepholes->dims() == Dims{directions, 3 * hidden},
          "P must be [directions, 3 * hidden_size]");
  o.h = first_state(context, 5, o, true);
  o.c = first_state(context, 6, o, cell.has_cell_state);
  o.lengths.assign(static_cast<std::size_t>(o.sizes.batch), o.sizes.time);
  if (const Tensor* lengths = context.find_input(4)) {
    require(lengths->dims() == Dims{o.sizes.batch}, "sequence_lens must have one length per sequence");
    o.lengths = lengths->integers();
  }
  for (const std::int64_t length : o.lengths)
    require(0 <= length && length <= o.sizes.time, "a sequence is longer than the input");
  return o;
}

/// X W^T + Wb of one direction: [time, batch, gates * hidden].
Tensor project_inputs(const KernelContext& context, const RecurrentOperands& o, std::int64_t direction) {
  const Sizes& sizes = o.sizes;
  const std::int64_t width = o.w.dim(1), rows = sizes.time * sizes.batch;
  Tensor projected = context.make(o.x.type(), {sizes.time, sizes.batch, width});
  const std::span<double> to = projected.write<double>();
  if (o.bias) {
    const auto bias =
        o.bias->as<double>().subspan(static_cast<std::size_t>(2 * direction * width), static_cast<std::size_t>(width));
    for (std::int64_t row = 0; row < rows; ++row) std::copy(bias.begin(), bias.end(), to.begin() + row * width);
  }
  const double* const w = o.w.as<double>().data() + direction * width * sizes.features;
  multiply_matrices<double>(context, o.x.type(), row_major(o.x.as<double>().data(), rows, sizes.features),
                            row_major(w, width, sizes.features).transposed(), row_major(to.data(), rows, width), true);
  return projected;
}

/// Elements [index * size, (index + 1) * size), or zeros when there is no tensor.
std::vector<double> part_or_zeros(const Tensor* x, std::int64_t index, std::int64_t size) {
  if (!x) return std::vector<double>(static_cast<std::size_t>(size));
  const double* const first = x->as<double>().data() + index * size;
  return {first, first + size};
}

Layer make_layer(const KernelContext& context, const Cell& cell, const RecurrentOperands& o, std::int64_t direction) {
  const std::int64_t hidden = o.sizes.hidden, width = cell.gates * hidden;
  const Dims state = {o.sizes.batch, hidden}, gates = {o.sizes.batch, width};
  const ElementType type = o.x.type();
  const auto of_direction = [&](const Tensor& x) {
    return slice_axis(context, x, 0, direction, direction + 1).reshaped(state);
  };
  return {.context = context,
          .type = type,
          .sizes = o.sizes,
          .gates = cell.gates,
          .recurrence = o.r.as<double>().data() + direction * width * hidden,
          .bias = part_or_zeros(o.bias, 2 * direction + 1, width),
          .peepholes = part_or_zeros(o.peepholes, direction, 3 * hidden),
          .activations = {},
          .inputs = context.make(type, gates),
          .from_state = context.make(type, gates),
          .h = of_direction(o.h),
          .c = of_direction(o.c),
          .next_h = context.make(type, state),
          .next_c = context.make(type, state),
          .reset = context.make(type, state),
          .next_error = static_cast<std::uint64_t>(direction) << 32,
          .quantizes_state = cell.is_quantized};
}

void copy_row(const Tensor& from, std::int64_t from_row, Tensor& to, std::int64_t to_row, std::int64_t size) {
  std::copy_n(from.as<double>().data() + from_row * size, size, to.write<double>().data() + to_row * size);
}

/// Fills y [time, directions, batch, hidden] and the last states [directions, batch, hidden] of one direction; of an empty sequence all stays 0.
void run_direction(const RecurrentOperands& o, Step step, Layer& layer, std::int64_t direction, bool backward,
                   Tensor& y, Tensor& last_h, Tensor& last_c) {
  const Sizes& sizes = o.sizes;
  const Tensor projected = project_inputs(layer.context, o, direction);
  for (std::int64_t at = 0; at < sizes.time; ++at) {
    layer.context.check_iteration(0);
    const auto time_of = [&](std::int64_t row) {
      return backward ? o.lengths[static_cast<std::size_t>(row)] - 1 - at : at;
    };
    const auto runs = [&](std::int64_t row) { return at < o.lengths[static_cast<std::size_t>(row)]; };
    for (std::int64_t row = 0; row < sizes.batch; ++row) {
      if (runs(row)) copy_row(projected, time_of(row) * sizes.batch + row, layer.inputs, row, layer.width());
    }
    step(layer);
    for (std::int64_t row = 0; row < sizes.batch; ++row) {
      if (!runs(row)) continue;
      copy_row(layer.next_h, row, layer.h, row, sizes.hidden);
      copy_row(layer.next_c, row, layer.c, row, sizes.hidden);
      const std::int64_t position = (time_of(row) * sizes.directions + direction) * sizes.batch + row;
      copy_row(layer.h, row, y, position, sizes.hidden);
    }
  }
  for (std::int64_t row = 0; row < sizes.batch; ++row) {
    if (o.lengths[static_cast<std::size_t>(row)] == 0) continue;
    copy_row(layer.h, row, last_h, direction * sizes.batch + row, sizes.hidden);
    copy_row(layer.c, row, last_c, direction * sizes.batch + row, sizes.hidden);
  }
}

void run(KernelContext& context, const Cell& cell) {
  const RecurrentOperands o = read_operands_recurrent(context, cell);
  const Sizes& sizes = o.sizes;
  const auto per_direction = static_cast<std::int64_t>(cell.activations.size());
  std::vector<std::string_view> names = context.strings("activations").value_or(std::vector<std::string_view>());
  while (static_cast<std::int64_t>(names.size()) < per_direction * sizes.directions)
    names.push_back(cell.activations[names.size() % cell.activations.size()]);
  const std::vector<Activation> activations = read_activations(context, names);

  Tensor y = context.make(o.x.type(), {sizes.time, sizes.directions, sizes.batch, sizes.hidden});
  Tensor h = context.make(o.x.type(), o.h.dims()), c = context.make(o.x.type(), o.h.dims());
  for (std::int64_t direction = 0; direction < sizes.directions; ++direction) {
    Layer layer = make_layer(context, cell, o, direction);
    layer.activations = std::span(activations).subspan(static_cast<std::size_t>(direction * per_direction));
    const bool backward = direction == 1 || context.string("direction") == "reverse";
    run_direction(o, cell.step, layer, direction, backward, y, h, c);
  }
  constexpr std::int64_t batch_to_front[] = {2, 0, 1, 3};
  const auto state = [&](const Tensor& x) { return o.batch_first ? permute(context, x, first_two_swapped) : x; };
  context.set_output(0, o.batch_first ? permute(context, y, batch_to_front) : y);
  context.set_output(1, state(h));
  if (cell.has_cell_state) context.set_output(2, state(c));
}

void rnn(KernelContext& context) { run(context, {1, {"Tanh"}, rnn_step}); }
void gru(KernelContext& context) { run(context, {3, {"Sigmoid", "Tanh"}, gru_step}); }
void lstm(KernelContext& context) { run(context, {4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step, true}); }
/// Of a state [batch, hidden] ONNX Runtime rounds rows with other ranges when it has several threads.
bool rounds_by_parts(const ir::Node&) { return true; }

void quantized_lstm(KernelContext& context) { run(context, {4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step, true, true}); }

}  // namespace

void register_recurrent(KernelRegistry& registry) {
  registry.add("RNN", all_versions(), rnn, {.noise = noise::ordinary});
  registry.add("GRU", all_versions(), gru, {.noise = noise::ordinary});
  registry.add("LSTM", all_versions(), lstm, {.noise = noise::ordinary});
  registry.add(microsoft_domain, "DynamicQuantizeLSTM", all_versions(), quantized_lstm,
               {.noise = noise::ordinary, .may_round_to_int8 = rounds_by_parts});
}

}  // namespace onnxkit::reference
