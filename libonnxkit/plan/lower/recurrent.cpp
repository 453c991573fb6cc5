#include <algorithm>
#include <array>
#include <string>

#include "libonnxkit/plan/compose.h"
#include "libonnxkit/plan/integers.h"

// RNN, GRU and LSTM, and DynamicQuantizeLSTM of com.microsoft: the products of the whole input in one step, then a recurrence over time for each direction.
namespace onnxkit::plan {
namespace {

using Function = Activation::Function;

struct KnownActivation {
  std::string_view name;
  Function function;
  std::optional<float> alpha = {}, beta = {};  ///< defaults of those that it takes
};
constexpr KnownActivation known_activations[] = {
    {"sigmoid", Function::sigmoid},
    {"tanh", Function::tanh},
    {"relu", Function::relu},
    {"affine", Function::affine, 1.0F, 0.0F},
    {"leakyrelu", Function::leaky_relu, 0.01F},
    {"thresholdedrelu", Function::thresholded_relu, 1.0F},
    {"scaledtanh", Function::scaled_tanh, 1.0F, 1.0F},
    {"hardsigmoid", Function::hard_sigmoid, 0.2F, 0.5F},
    {"elu", Function::elu, 1.0F},
    {"softsign", Function::softsign},
    {"softplus", Function::softplus},
};

/// All activations of all directions. Each takes its alpha and beta from the lists in turn, where it has any.
Unlowered read_activations(LowerCall& call, std::vector<std::string_view> defaults, std::size_t count,
                           std::vector<Activation>& read) {
  auto names = call.strings("activations").value_or(std::vector<std::string_view>());
  if (names.size() > count) names.resize(count);  // the schema of RNN names those of two directions by default
  while (names.size() < count) names.push_back(defaults[names.size() % defaults.size()]);
  const auto alphas = call.reals("activation_alpha").value_or(std::vector<float>()),
             betas = call.reals("activation_beta").value_or(std::vector<float>());
  std::size_t alpha = 0, beta = 0;
  for (const std::string_view name : names) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto* const known = std::find_if(std::begin(known_activations), std::end(known_activations),
                                           [&](const KnownActivation& activation) { return activation.name == lower; });
    if (known == std::end(known_activations)) return "an unknown activation";
    Activation activation{.function = known->function};
    if (known->alpha) activation.alpha = alpha < alphas.size() ? alphas[alpha++] : *known->alpha;
    if (known->beta) activation.beta = beta < betas.size() ? betas[beta++] : *known->beta;
    read.push_back(activation);
  }
  return std::nullopt;
}

class RecurrentLowering {
 public:
  RecurrentLowering(LowerCall& call, Cell cell, bool is_quantized = false)
      : call_(call), cell_(cell), is_quantized_(is_quantized) {
    gates_ = cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
  }

  Unlowered run() {
    if (auto reason = read()) return reason;
    const Dims time_first = {time_, directions_, batch_, units_}, batch_first = {batch_, time_, directions_, units_};
    constexpr std::int64_t to_time_first[] = {1, 2, 0, 3}, swapped[] = {1, 0, 2};
    View y = call_.make(ElementType::float32, is_batch_first_ ? batch_first : time_first);
    give_output(0, y);
    if (is_batch_first_) y = permuted(y, to_time_first);
    std::array<View, 2> last;
    for (std::size_t i = 0; i < (cell_ == Cell::lstm ? 2U : 1U); ++i) {
      last[i] = call_.make(ElementType::float32,
                           is_batch_first_ ? Dims{batch_, directions_, units_} : Dims{directions_, batch_, units_});
      give_output(i + 1, last[i]);
      if (is_batch_first_) last[i] = permuted(last[i], swapped);
    }
    for (std::int64_t direction = 0; direction < directions_; ++direction) add_direction(direction, y, last);
    return std::nullopt;
  }

 private:
  Unlowered read() {
    for (std::size_t i = 0; i < call_.input_count(); ++i) {
      const bool is_real = i != 4 && !(is_quantized_ && (i == 1 || i == 2 || i > 7));
      if (is_real && call_.has_input(i) && !is_narrow_real(call_.input_type(i)))
        return "only for real numbers of 32 bits and less";
      if (call_.has_input(i) && call_.input(i).size() == 0) return "without elements";
    }
    is_batch_first_ = !is_quantized_ && call_.integer("layout") != 0;
    if (is_quantized_) {
      if (auto reason = read_quantized(1, 8)) return reason;
      if (auto reason = read_quantized(2, 10)) return reason;
    } else {
      weights_ = {call_.input(1), call_.input(2)};
    }
    if (auto reason = read_sizes()) return reason;
    if (is_quantized_) x_ = through_bytes(call_, x_);
    const auto names = cell_ == Cell::lstm  ? std::vector<std::string_view>{"Sigmoid", "Tanh", "Tanh"}
                       : cell_ == Cell::gru ? std::vector<std::string_view>{"Sigmoid", "Tanh"}
                                            : std::vector<std::string_view>{"Tanh"};
    per_direction_ = names.size();
    if (auto reason =
            read_activations(call_, names, per_direction_ * static_cast<std::size_t>(directions_), activations_))
      return reason;
    shared_.cell = cell_;
    shared_.clip = call_.find_real("clip");
    if (shared_.clip && !(*shared_.clip >= 0)) return "a negative clip";
    shared_.resets_behind = cell_ == Cell::gru && call_.integer("linear_before_reset") != 0;
    shared_.couples = cell_ == Cell::lstm && call_.integer("input_forget") != 0;
    shared_.has_peepholes = cell_ == Cell::lstm && call_.has_input(7);
    shared_.has_lengths = call_.has_input(4);
    shared_.rounds_state = is_quantized_;
    return std::nullopt;
  }

  /// Weights [directions, depth, columns] with scales and zero points for each direction, or for each column.
  Unlowered read_quantized(std::size_t input, std::size_t scale_input) {
    const auto numbers = call_.constant_reals(input), scales = call_.constant_reals(scale_input),
               zeros = call_.constant_reals(scale_input + 1);
    if (!numbers || !scales || !zeros) return "weights that are not constant";
    const Dims& dims = call_.input_dims(input);
    if (dims.size() != 3) return "operands of other ranks";
    const Dims by_direction = {dims[0]}, by_column = {dims[0], dims[2]};
    for (const std::size_t of : {scale_input, scale_input + 1})
      if (call_.input_dims(of) != by_direction && call_.input_dims(of) != by_column) return "scales of other sizes";
    const bool scales_columns = call_.input_dims(scale_input) == by_column,
               moves_columns = call_.input_dims(scale_input + 1) == by_column;
    call_.spend_on_tables(element_count(dims), sizeof(float));
    std::vector<float> reals;
    reals.reserve(numbers->size());
    for (const double number : *numbers) {
      const auto at = static_cast<std::int64_t>(reals.size()), direction = at / (dims[1] * dims[2]);
      const auto of_column = static_cast<std::size_t>(direction * dims[2] + at % dims[2]);
      const auto of_direction = static_cast<std::size_t>(direction);
      const double zero = (*zeros)[moves_columns ? of_column : of_direction];
      reals.push_back(static_cast<float>((number - zero) * (*scales)[scales_columns ? of_column : of_direction]));
    }
    constexpr std::int64_t depth_last[] = {0, 2, 1};
    weights_[input - 1] = permuted(call_.constant(reals, dims), depth_last);
    return std::nullopt;
  }

  Unlowered read_sizes() {
    x_ = call_.as_real(call_.input(0));
    const View &w = weights_[0], &r = weights_[1];
    if (x_.rank() != 3 || w.rank() != 3 || r.rank() != 3) return "operands of other ranks";
    constexpr std::int64_t swapped[] = {1, 0, 2};
    if (is_batch_first_) x_ = permuted(x_, swapped);
    const std::string_view direction = call_.string("direction");
    directions_ = direction == "bidirectional" ? 2 : 1;
    is_reverse_ = direction == "reverse";
    if (!is_reverse_ && directions_ == 1 && direction != "forward") return "an unknown direction";
    time_ = x_.dims[0], batch_ = x_.dims[1], units_ = r.dims[2];
    width_ = gates_ * units_;
    if (call_.integer("hidden_size", units_) != units_ || w.dims != Dims{directions_, width_, x_.dims[2]} ||
        r.dims != Dims{directions_, width_, units_})
      return "weights of other sizes";
    const auto fits = [&](std::size_t input, const Dims& dims) {
      return !call_.has_input(input) || call_.input_dims(input) == dims;
    };
    const Dims state = is_batch_first_ ? Dims{batch_, directions_, units_} : Dims{directions_, batch_, units_};
    if (!fits(3, {directions_, 2 * width_}) || !fits(4, {batch_}) || !fits(5, state) || !fits(6, state) ||
        !fits(7, {directions_, 3 * units_}))
      return "operands of other sizes";
    return std::nullopt;
  }

  void give_output(std::size_t index, const View& view) {
    if (call_.has_output(index)) call_.set_output(index, view);
  }

  View weights(std::size_t input, std::int64_t direction) {
    const View& all = weights_[input - 1];
    return picked(is_quantized_ || call_.is_constant(input) ? all : call_.as_real(all), 0, direction);
  }

  View state(std::size_t input, std::int64_t direction) {
    const float zero[] = {0};
    if (!call_.has_input(input)) return broadcast_to(call_.constant(zero, {1, 1}), Dims{batch_, units_});
    constexpr std::int64_t swapped[] = {1, 0, 2};
    const View& given = call_.input(input);
    View first = picked(call_.as_real(is_batch_first_ ? permuted(given, swapped) : given), 0, direction);
    return first.strides[1] == 1 || units_ == 1 ? first : call_.contiguous(first);
  }

  /// The biases that are added to the products of the input: both, but for one of GRU's candidate that the reset gate scales.
  View bias(std::int64_t direction) {
    const std::int64_t joined = shared_.resets_behind ? 2 * units_ : width_;
    if (const auto known = call_.constant_reals(3)) {
      std::vector<float> sums(static_cast<std::size_t>(width_));
      const double* const of = known->data() + direction * 2 * width_;
      for (std::int64_t i = 0; i < width_; ++i)
        sums[static_cast<std::size_t>(i)] = static_cast<float>(of[i] + (i < joined ? of[width_ + i] : 0));
      return call_.constant(sums, {width_});
    }
    const View both = picked(call_.as_real(call_.input(3)), 0, direction);
    const View result = call_.make(ElementType::float32, {width_});
    Expression sum;
    sum.apply(Operation::add, sum.input(0, Lane::f32), sum.input(1, Lane::f32));
    call_.emit_map(sum, {sliced(both, 0, 0, 1, joined), sliced(both, 0, width_, 1, joined)},
                   sliced(result, 0, 0, 1, joined));
    if (joined < width_) call_.emit_copy(sliced(both, 0, joined, 1, units_), sliced(result, 0, joined, 1, units_));
    return result;
  }

  /// [time, batch, width].
  View projected(std::int64_t direction) {
    constexpr std::int64_t swapped[] = {1, 0};
    const View product = matrix_product(call_, x_, permuted(weights(1, direction), swapped), {time_, batch_, width_});
    if (!call_.has_input(3)) return product;
    const View result = call_.make(ElementType::float32, {time_ * batch_, width_});
    Expression sum;
    sum.apply(Operation::add, sum.input(0, Lane::f32), sum.input(1, Lane::f32));
    call_.emit_map(sum, {reshaped(product, {time_ * batch_, width_}), bias(direction)}, result);
    return reshaped(result, {time_, batch_, width_});
  }

  void add_direction(std::int64_t direction, const View& y, const std::array<View, 2>& last) {
    RecurrentParameters parameters = shared_;
    parameters.is_reverse = is_reverse_ || direction == 1;
    const auto first = activations_.begin() + direction * static_cast<std::ptrdiff_t>(per_direction_);
    parameters.activations.assign(first, first + static_cast<std::ptrdiff_t>(per_direction_));
    std::vector<View> inputs = {projected(direction), weights(2, direction), state(5, direction)};
    if (cell_ == Cell::lstm) inputs.push_back(state(6, direction));
    if (shared_.resets_behind) {
      const float zero[] = {0};
      inputs.push_back(call_.has_input(3) ? call_.contiguous(sliced(picked(call_.as_real(call_.input(3)), 0, direction),
                                                                    0, 2 * width_ - units_, 1, units_))
                                          : broadcast_to(call_.constant(zero, {1}), Dims{units_}));
    }
    if (shared_.has_peepholes) inputs.push_back(call_.contiguous(picked(call_.as_real(call_.input(7)), 0, direction)));
    if (shared_.has_lengths) inputs.push_back(call_.contiguous(call_.input(4)));
    const View states = picked(permuted(y, std::array<std::int64_t, 4>{1, 0, 2, 3}), 0, direction);
    std::vector<View> outputs = {states, picked(last[0], 0, direction)};
    if (cell_ == Cell::lstm) outputs.push_back(picked(last[1], 0, direction));
    call_.emit(recurrent_step, std::move(inputs), std::move(outputs), parameters);
  }

  LowerCall& call_;
  Cell cell_;
  bool is_quantized_;
  View x_;                       ///< [time, batch, features]
  std::array<View, 2> weights_;  ///< [directions, gates * units, features] and [directions, gates * units, units]
  std::int64_t gates_ = 1, time_ = 0, batch_ = 0, units_ = 0, width_ = 0, directions_ = 1;
  bool is_batch_first_ = false, is_reverse_ = false;
  std::size_t per_direction_ = 1;
  std::vector<Activation> activations_;
  RecurrentParameters shared_;
};

template <Cell cell>
Unlowered lower_recurrent(LowerCall& call) {
  return RecurrentLowering(call, cell).run();
}

Unlowered lower_quantized_lstm(LowerCall& call) { return RecurrentLowering(call, Cell::lstm, true).run(); }

}  // namespace

void register_recurrent(LoweringRegistry& registry);
void register_recurrent(LoweringRegistry& registry) {
  registry.add("RNN", since(7), lower_recurrent<Cell::rnn>);
  registry.add("GRU", since(7), lower_recurrent<Cell::gru>);
  registry.add("LSTM", since(7), lower_recurrent<Cell::lstm>);
  registry.add("com.microsoft", "DynamicQuantizeLSTM", all_versions(), lower_quantized_lstm);
}

}  // namespace onnxkit::plan
