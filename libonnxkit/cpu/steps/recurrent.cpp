#include <algorithm>
#include <cmath>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

// RNN, GRU and LSTM: for each point in time a packed product of the state, then the gates of each row.
namespace onnxkit::cpu {
namespace {

using plan::Activation;
using plan::Cell;

/// to[i] = f(to[i]), of numbers that are clipped already.
void activate(const Activation& activation, float* to, std::int64_t count) {
  const float alpha = activation.alpha, beta = activation.beta;
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = f(to[i]);
  };
  switch (activation.function) {
    case Activation::Function::sigmoid:
      return array_function(Function::sigmoid)(to, to, count);
    case Activation::Function::tanh:
      return array_function(Function::tanh)(to, to, count);
    case Activation::Function::relu:
      return each([](float x) { return x < 0 ? 0.0F : x; });
    case Activation::Function::affine:
      return each([&](float x) { return alpha * x + beta; });
    case Activation::Function::leaky_relu:
      return each([&](float x) { return x < 0 ? alpha * x : x; });
    case Activation::Function::thresholded_relu:
      return each([&](float x) { return x < alpha ? 0.0F : x; });
    case Activation::Function::scaled_tanh:
      return each([&](float x) { return alpha * std::tanh(beta * x); });
    case Activation::Function::hard_sigmoid:
      return each([&](float x) { return std::clamp(alpha * x + beta, 0.0F, 1.0F); });
    case Activation::Function::elu:
      return each([&](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
    case Activation::Function::softsign:
      return each([](float x) { return x / (1 + std::abs(x)); });
    case Activation::Function::softplus:
      return each([](float x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
  }
}

/// The recurrent weights of some gates, packed when the kernel is made, or for each run where they are no constant.
struct GateWeights {
  View view;  ///< [columns, units]
  PackedWeights::Floats packed;
  bool is_constant = false;

  std::int64_t columns() const { return view.dims[0]; }
  std::int64_t units() const { return view.dims[1]; }
};

class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const plan::Step& step, std::vector<GateWeights> weights)
      : of_(static_cast<const plan::RecurrentParameters&>(*step.parameters)),
        x_(step.inputs[0]),
        weights_(std::move(weights)),
        outputs_(step.outputs),
        time_(x_.dims[0]),
        batch_(x_.dims[1]),
        width_(x_.dims[2]),
        units_(step.inputs[2].dims[1]) {
    std::size_t next = 2;
    first_.push_back(step.inputs[next++]);
    if (of_.cell == Cell::lstm) first_.push_back(step.inputs[next++]);
    if (of_.resets_behind) bias_ = step.inputs[next++];
    if (of_.has_peepholes) peepholes_ = step.inputs[next++];
    if (of_.has_lengths) lengths_ = step.inputs[next++];
    const auto state = static_cast<std::size_t>(batch_ * units_);
    h_.resize(state);
    next_h_.resize(state);
    if (of_.cell == Cell::lstm) c_.resize(state), next_c_.resize(state);
    if (of_.cell == Cell::gru) kept_.resize(state);
    gates_.resize(static_cast<std::size_t>(batch_ * width_));
    if (of_.has_lengths) rows_.resize(gates_.size());
    if (of_.rounds_state) rounded_.resize(state);
  }

  void run(RunState& state) override {
    if (!read_lengths(state)) return;
    for (GateWeights& weights : weights_) {
      if (!weights.is_constant)
        pack_b(*state.threads, weights.packed->data(), state.at<float>(weights.view), weights.units(),
               weights.columns(), weights.view.strides[1], weights.view.strides[0]);
    }
    read_state(state, first_[0], h_);
    if (of_.cell == Cell::lstm) read_state(state, first_[1], c_);
    clear_outputs(state);
    constexpr std::int64_t between_asks = 64;
    for (std::int64_t at = 0; at < longest_; ++at) {
      if (at % between_asks == 0) ThreadPool::ask_watch();
      const float* const x = inputs_at(state, at);
      if (of_.cell == Cell::lstm)
        step_lstm(state, x);
      else if (of_.cell == Cell::gru)
        step_gru(state, x);
      else
        step_rnn(state, x);
      keep(state, at);
    }
  }

  std::uint64_t held_bytes() const override {
    std::uint64_t bytes = 0;
    for (const GateWeights& weights : weights_) bytes += weights.is_constant ? 0 : weights.packed->bytes();
    return bytes;
  }

 private:
  /// At `at` steps from the begin of each sequence.
  std::int64_t time_of(std::int64_t at, std::int64_t row) const {
    return of_.is_reverse ? length_[static_cast<std::size_t>(row)] - 1 - at : at;
  }
  bool runs(std::int64_t at, std::int64_t row) const { return at < length_[static_cast<std::size_t>(row)]; }

  bool read_lengths(RunState& state) {
    length_.assign(static_cast<std::size_t>(batch_), time_);
    longest_ = time_;
    if (!of_.has_lengths) return true;
    longest_ = 0;
    for (std::int64_t row = 0; row < batch_; ++row) {
      const std::int64_t length = state.at<std::int32_t>(lengths_)[row];
      if (length < 0 || length > time_) {
        state.error = make_error("kernel", "a sequence is longer than the input");
        return false;
      }
      length_[static_cast<std::size_t>(row)] = length;
      longest_ = std::max(longest_, length);
    }
    return true;
  }

  void read_state(RunState& state, const View& from, std::vector<float>& to) const {
    for (std::int64_t row = 0; row < batch_; ++row) {
      const float* const source = state.at<float>(from) + row * from.strides[0];
      for (std::int64_t i = 0; i < units_; ++i)
        to[static_cast<std::size_t>(row * units_ + i)] = source[i * from.strides[1]];
    }
  }

  float* y_at(RunState& state, std::int64_t time, std::int64_t row) const {
    const View& y = outputs_[0];
    return state.at<float>(y) + time * y.strides[0] + row * y.strides[1];
  }

  /// 0 behind the end of each sequence, and the last states of empty ones.
  void clear_outputs(RunState& state) const {
    for (std::int64_t row = 0; row < batch_; ++row) {
      const std::int64_t length = length_[static_cast<std::size_t>(row)];
      for (std::int64_t time = length; time < time_; ++time) std::fill_n(y_at(state, time, row), units_, 0.0F);
      for (std::size_t i = 1; i < outputs_.size() && length == 0; ++i)
        std::fill_n(state.at<float>(outputs_[i]) + row * outputs_[i].strides[0], units_, 0.0F);
    }
  }

  /// Rows of x at this step, input_stride() apart.
  const float* inputs_at(RunState& state, std::int64_t at) {
    const float* const x = state.at<float>(x_);
    if (!of_.has_lengths) return x + time_of(at, 0) * x_.strides[0];
    for (std::int64_t row = 0; row < batch_; ++row) {
      if (runs(at, row))
        std::copy_n(x + time_of(at, row) * x_.strides[0] + row * x_.strides[1], width_, rows_.data() + row * width_);
    }
    return rows_.data();
  }
  std::int64_t input_stride() const { return of_.has_lengths ? width_ : x_.strides[1]; }

  /// To uint8 by the range of all, and numbers again.
  const std::vector<float>& through_bytes(const std::vector<float>& state) {
    constexpr float most_steps = 255;
    float least = 0, most = 0;
    for (const float number : state) least = std::min(least, number), most = std::max(most, number);
    const float scale = least == most ? 1 : (most - least) / most_steps;
    const float zero = std::clamp(std::nearbyint(-least / scale), 0.0F, most_steps);
    std::transform(state.begin(), state.end(), rounded_.begin(), [&](float number) {
      const float whole = std::isnan(number) ? 0 : std::nearbyint(number / scale);
      return (std::clamp(whole + zero, 0.0F, most_steps) - zero) * scale;
    });
    return rounded_;
  }

  /// The columns of the gates from `first` on: state * weights, with what is at `residual` added to it.
  void multiply(RunState& state, const std::vector<float>& from, const GateWeights& weights, std::int64_t first,
                const float* residual) {
    Product product{.a = of_.rounds_state ? through_bytes(from).data() : from.data(),
                    .a_stride = units_,
                    .packed_b = weights.packed->data(),
                    .c = gates_.data() + first,
                    .c_stride = width_,
                    .m = batch_,
                    .k = units_,
                    .n = weights.columns()};
    Epilogue epilogue;
    epilogue.residual = residual;
    epilogue.residual_stride = input_stride();
    cpu::product(*state.threads, product, epilogue);
  }

  void clipped(const Activation& activation, float* to, std::int64_t count) const {
    if (of_.clip) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = std::clamp(to[i], -*of_.clip, *of_.clip);
    }
    activate(activation, to, count);
  }

  void step_rnn(RunState& state, const float* x) {
    multiply(state, h_, weights_[0], 0, x);
    clipped(of_.activations[0], gates_.data(), batch_ * units_);
    next_h_.swap(gates_);
  }

  /// Gates: update, reset, candidate.
  void step_gru(RunState& state, const float* x) {
    const bool behind = of_.resets_behind;
    multiply(state, h_, weights_[0], 0, behind ? nullptr : x);
    for (std::int64_t row = 0; row < batch_; ++row) {
      float* const gates = gates_.data() + row * width_;
      const float* const in = x + row * input_stride();
      if (behind) {
        for (std::int64_t i = 0; i < 2 * units_; ++i) gates[i] += in[i];
      }
      clipped(of_.activations[0], gates, 2 * units_);
      float* const candidate = gates + 2 * units_;
      const float* const reset = gates + units_;
      if (behind) {
        const float* const bias = state.at<float>(bias_);
        const std::int64_t stride = bias_.strides[0];
        for (std::int64_t i = 0; i < units_; ++i)
          candidate[i] = in[2 * units_ + i] + reset[i] * (candidate[i] + bias[i * stride]);
      } else {
        for (std::int64_t i = 0; i < units_; ++i)
          kept_[static_cast<std::size_t>(row * units_ + i)] = reset[i] * h_[static_cast<std::size_t>(row * units_ + i)];
      }
    }
    if (!behind) multiply(state, kept_, weights_[1], 2 * units_, x + 2 * units_);
    for (std::int64_t row = 0; row < batch_; ++row) {
      const float* const update = gates_.data() + row * width_;
      float* const candidate = gates_.data() + row * width_ + 2 * units_;
      clipped(of_.activations[1], candidate, units_);
      const float* const h = h_.data() + row * units_;
      float* const next = next_h_.data() + row * units_;
      for (std::int64_t i = 0; i < units_; ++i) next[i] = (1 - update[i]) * candidate[i] + update[i] * h[i];
    }
  }

  void add_peephole(RunState& state, std::int64_t gate, const float* c, float* to) const {
    if (!of_.has_peepholes) return;
    const float* const weights = state.at<float>(peepholes_) + gate * units_;
    for (std::int64_t i = 0; i < units_; ++i) to[i] += weights[i] * c[i];
  }

  /// Gates: input, output, forget, cell.
  void step_lstm(RunState& state, const float* x) {
    multiply(state, h_, weights_[0], 0, x);
    for (std::int64_t row = 0; row < batch_; ++row) {
      float* const input = gates_.data() + row * width_;
      float *const output = input + units_, *const forget = output + units_, *const cell = forget + units_;
      const float* const c = c_.data() + row * units_;
      float* const next_c = next_c_.data() + row * units_;
      float* const next_h = next_h_.data() + row * units_;
      add_peephole(state, 0, c, input);
      clipped(of_.activations[0], input, units_);
      if (of_.couples) {
        for (std::int64_t i = 0; i < units_; ++i) forget[i] = 1 - input[i];
      } else {
        add_peephole(state, 2, c, forget);
        clipped(of_.activations[0], forget, units_);
      }
      clipped(of_.activations[1], cell, units_);
      for (std::int64_t i = 0; i < units_; ++i) next_c[i] = forget[i] * c[i] + input[i] * cell[i];
      add_peephole(state, 1, next_c, output);
      clipped(of_.activations[0], output, units_);
      std::copy_n(next_c, units_, next_h);
      activate(of_.activations[2], next_h, units_);
      for (std::int64_t i = 0; i < units_; ++i) next_h[i] *= output[i];
    }
  }

  /// The new states of sequences that are not at their end.
  void keep(RunState& state, std::int64_t at) {
    for (std::int64_t row = 0; row < batch_; ++row) {
      if (!runs(at, row)) continue;
      const float* const next = next_h_.data() + row * units_;
      std::copy_n(next, units_, y_at(state, time_of(at, row), row));
      std::copy_n(next, units_, h_.data() + row * units_);
      if (of_.cell == Cell::lstm) std::copy_n(next_c_.data() + row * units_, units_, c_.data() + row * units_);
      if (at + 1 < length_[static_cast<std::size_t>(row)]) continue;
      std::copy_n(next, units_, state.at<float>(outputs_[1]) + row * outputs_[1].strides[0]);
      if (of_.cell == Cell::lstm)
        std::copy_n(c_.data() + row * units_, units_, state.at<float>(outputs_[2]) + row * outputs_[2].strides[0]);
    }
  }

  const plan::RecurrentParameters of_;
  View x_, bias_, peepholes_, lengths_;
  std::vector<GateWeights> weights_;
  std::vector<View> first_, outputs_;
  std::int64_t time_, batch_, width_, units_, longest_ = 0;
  std::vector<std::int64_t> length_;
  std::vector<float> h_, next_h_, c_, next_c_, kept_, gates_, rows_, rounded_;
};

/// All gates at once, but for GRU's candidate where the reset gate scales the state in front of its product.
std::vector<View> parts_of_weights(const plan::Step& step) {
  const auto& parameters = static_cast<const plan::RecurrentParameters&>(*step.parameters);
  const View& all = step.inputs[1];
  if (parameters.cell != Cell::gru || parameters.resets_behind) return {all};
  const std::int64_t units = all.dims[1];
  return {plan::sliced(all, 0, 0, 1, 2 * units), plan::sliced(all, 0, 2 * units, 1, units)};
}

bool has_last_axis_side_by_side(const View& view) { return view.strides.back() == 1 || view.dims.back() == 1; }

std::optional<std::string> refuse_recurrent(const plan::Plan& plan, const plan::Step& step) {
  if (step.inputs[1].type != ElementType::float32 && plan.buffers[step.inputs[1].buffer].home != plan::Home::constant)
    return "weights that are not float32";
  const bool fits = has_last_axis_side_by_side(step.inputs[0]) &&
                    std::all_of(step.outputs.begin(), step.outputs.end(), has_last_axis_side_by_side);
  return fits ? std::nullopt : std::optional<std::string>("rows whose numbers are not side by side");
}

Result<std::unique_ptr<Kernel>> make_recurrent(const plan::Step& step, Preparation& preparation) {
  const bool is_constant = preparation.is_constant(step.inputs[1]);
  std::vector<GateWeights> weights;
  for (const View& view : parts_of_weights(step)) {
    GateWeights gates{.view = view, .packed = {}, .is_constant = is_constant};
    const std::int64_t floats = packed_b_floats(gates.units(), gates.columns());
    if (is_constant) {
      gates.packed = preparation.pack_once(preparation.weight_key("recurrent", view), [&] {
        auto packed = std::make_shared<AlignedFloats>(floats);
        const auto stored = preparation.stored(view);
        pack_b(preparation.threads, packed->data(), stored.data(), gates.units(), gates.columns(), stored.strides[1],
               stored.strides[0]);
        return packed;
      });
    } else {
      gates.packed = std::make_shared<AlignedFloats>(floats);
    }
    weights.push_back(std::move(gates));
  }
  if (is_constant) preparation.is_packed(step.inputs[1]);
  return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(step, std::move(weights)));
}

}  // namespace

void register_recurrent(KernelRegistry& registry);
void register_recurrent(KernelRegistry& registry) {
  registry.add(plan::recurrent_step, make_recurrent, refuse_recurrent);
}

}  // namespace onnxkit::cpu
