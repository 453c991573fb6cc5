#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

// RNN, GRU and LSTM: a launch for each point in time, all of one text, and one behind them for the last states. The states that go on from one point to
// the next are those of the output; the cell of an LSTM stays in the output for the last one.
namespace onnxkit::cuda {
namespace {

using plan::Activation;
using plan::Cell;

std::string activated(const Activation& activation, Lane lane, const std::string& x) {
  const std::string alpha = literal(lane, activation.alpha), beta = literal(lane, activation.beta),
                    one = literal(lane, 1), ending = lane == Lane::f32 ? "f" : "";
  switch (activation.function) {
    case Activation::Function::sigmoid:
      return fmt::format("sigmoid_of({})", x);
    case Activation::Function::tanh:
      return fmt::format("tanh_of({})", x);
    case Activation::Function::relu:
      return fmt::format("({0} < 0 ? 0 : {0})", x);
    case Activation::Function::affine:
      return fmt::format("({} * {} + {})", alpha, x, beta);
    case Activation::Function::leaky_relu:
      return fmt::format("({0} < 0 ? {1} * {0} : {0})", x, alpha);
    case Activation::Function::thresholded_relu:
      return fmt::format("({0} < {1} ? 0 : {0})", x, alpha);
    case Activation::Function::scaled_tanh:
      return fmt::format("({} * tanh_of({} * {}))", alpha, beta, x);
    case Activation::Function::hard_sigmoid:
      return fmt::format("smaller(larger({} * {} + {}, {}), {})", alpha, x, beta, literal(lane, 0), one);
    case Activation::Function::elu:
      return fmt::format("({0} < 0 ? {1} * expm1{2}({0}) : {0})", x, alpha, ending);
    case Activation::Function::softsign:
      return fmt::format("({0} / ({1} + absolute({0})))", x, one);
    case Activation::Function::softplus:
      return fmt::format("(({0} > 0 ? {0} : 0) + log1p{1}(exp_of(-absolute({0}))))", x, ending);
  }
  return x;
}

/// A GRU whose reset gate scales the state has two launches for each point in time: its candidate needs the scaled states of all units.
enum class Phase : std::uint8_t { all, gates, candidate };

class RecurrentText {
 public:
  explicit RecurrentText(const plan::Step& step)
      : of_(static_cast<const plan::RecurrentParameters&>(*step.parameters)),
        x_(step.inputs[0]),
        weights_(step.inputs[1]),
        first_h_(step.inputs[2]),
        y_(step.outputs[0]),
        last_h_(step.outputs[1]),
        time_(x_.dims[0]),
        batch_(x_.dims[1]),
        units_(weights_.dims[1]),
        rows_(std::min<std::int64_t>(batch_, most_rows)) {
    std::size_t next = 3;
    if (of_.cell == Cell::lstm) first_c_ = step.inputs[next++], c_ = step.outputs[2];
    if (of_.resets_behind) bias_ = step.inputs[next++];
    if (of_.has_peepholes) peepholes_ = step.inputs[next++];
    if (of_.has_lengths) lengths_ = step.inputs[next++];
    lane_ = x_.type == ElementType::float64 || y_.type == ElementType::float64 ? Lane::f64 : Lane::f32;
    std::vector<const View*> views = {&last_h_};
    for (const View& view : step.inputs) views.push_back(&view);
    for (const View& view : step.outputs) views.push_back(&view);
    is_near_ = fits_31_bits(views);
  }

  std::vector<Launch> launches() const {
    std::vector<Launch> all;
    const bool is_split = of_.cell == Cell::gru && !of_.resets_behind;
    for (std::int64_t at = 0; at < time_; ++at) {
      if (is_split) {
        all.push_back(launch(Phase::gates, at));
        all.push_back(launch(Phase::candidate, at));
      } else {
        all.push_back(launch(Phase::all, at));
      }
    }
    all.push_back(last_launch());
    return all;
  }

 private:
  static constexpr std::int64_t most_rows = 8, warps = 4, warp = 32;

  std::int64_t unit_blocks() const { return (units_ + warps - 1) / warps; }
  /// Sequences that end before the others begin later where time runs backwards: then only the run tells which state a row goes on from.
  bool begins_late() const { return of_.is_reverse && of_.has_lengths; }

  Launch launch(Phase phase, std::int64_t at) const {
    const std::int64_t time = of_.is_reverse ? time_ - 1 - at : at;
    const std::int64_t before = at == 0 ? time : of_.is_reverse ? time + 1 : time - 1;
    Launch made;
    std::string parameters;
    const auto add = [&](const View& view, std::string_view name, bool is_written) {
      parameters += fmt::format("{}{}{}* {}", parameters.empty() ? "(" : ", ", is_written ? "" : "const ",
                                stored_type(view.type), name);
      made.add_operand(view, is_written);
    };
    const auto reads = [&](const View& view, std::string_view name) { add(view, name, false); };
    const auto writes = [&](const View& view, std::string_view name) { add(view, name, true); };
    reads(plan::sliced(x_, 0, time, 1, 1), "x");
    if (of_.has_lengths) reads(lengths_, "lengths");
    if (of_.has_lengths && time_ > 1) reads(x_, "x_begin");
    reads(weights_, "__restrict__ weights");
    const bool is_first = at == 0 && !begins_late();
    if (is_first || begins_late()) reads(first_h_, "first_h");
    if (!is_first) reads(plan::sliced(y_, 0, before, 1, 1), "before");
    if (of_.cell == Cell::lstm && (is_first || begins_late())) reads(first_c_, "first_c");
    if (of_.resets_behind) reads(bias_, "bias");
    if (of_.has_peepholes) reads(peepholes_, "peepholes");
    writes(plan::sliced(y_, 0, time, 1, 1), "y");
    if (phase == Phase::gates) writes(last_h_, "scaled");
    if (phase == Phase::candidate) reads(last_h_, "scaled");
    if (of_.cell == Cell::lstm) writes(c_, "c");
    made.text = parameters + ") {\n" + begin() + products(phase, is_first) + cell(phase, is_first) + "}\n";
    made.blocks = static_cast<std::uint32_t>(unit_blocks() * ((batch_ + rows_ - 1) / rows_));
    made.threads = warps * warp;
    made.synchronizes = true;
    return made;
  }

  /// A warp has a unit for some rows.
  std::string begin() const {
    std::string text = fmt::format(
        "  using Number = {0};\n  using Index = {1};\n  const int thread = threadIdx.x % {2};\n"
        "  const Index unit = (Index)(blockIdx.x % {3}u * {4} + threadIdx.x / {2});\n"
        "  const Index first = (Index)(blockIdx.x / {3}u) * {5};\n",
        lane_type(lane_), is_near_ ? "int" : "long long", warp, unit_blocks(), warps, rows_);
    if (of_.has_lengths)
      text += fmt::format("  const Index time = {};\n",
                          time_ == 1 ? "0" : fmt::format("(Index)((x - x_begin) / {})", x_.strides[0]));
    return text;
  }

  std::string loaded_at(const View& view, std::string_view name, std::initializer_list<std::string> at) const {
    const std::vector<std::string> names(at);
    return loaded(view.type, lane_,
                  fmt::format("{}[{}]", name, place_text(names, std::span(view.strides).last(names.size()))));
  }

  /// The state that a row had before.
  std::string state(bool is_first, const std::string& row, const std::string& unit) const {
    const std::string first = loaded_at(first_h_, "first_h", {row, unit}),
                      before = loaded_at(y_, "before", {row, unit});
    if (!begins_late()) return is_first ? first : before;
    return fmt::format("({} ? {} : {})", starts(row), first, before);
  }
  std::string starts(const std::string& row) const { return fmt::format("time + 1 == {}", length(row)); }
  std::string length(const std::string& row) const {
    return fmt::format("lengths[{}]", place_text(std::span(&row, 1), lengths_.strides));
  }

  std::int64_t first_gate(Phase phase) const { return phase == Phase::candidate ? 2 : 0; }
  std::int64_t gates(Phase phase) const {
    if (phase != Phase::all) return phase == Phase::gates ? 2 : 1;
    return of_.cell == Cell::lstm ? 4 : of_.cell == Cell::gru ? 3 : 1;
  }

  /// `products` by gate, of the row that has the number of the thread in its warp.
  std::string products(Phase phase, bool is_first) const {
    const std::string gate = fmt::format("({} + g) * {} + column", first_gate(phase), units_);
    const std::string of_row =
        phase == Phase::candidate ? loaded_at(last_h_, "scaled", {"row", "k"}) : state(is_first, "row", "k");
    return fmt::format(
        "  const Index column = unit < {0} ? unit : {0} - 1;\n  Number sums[{1}][{2}] = {{}}, products[{1}] = {{}};\n"
        "  for (Index k = thread; k < {0}; k += {3}) {{\n    Number weight[{1}];\n"
        "#pragma unroll\n    for (int g = 0; g < {1}; ++g) weight[g] = {4};\n"
        "#pragma unroll\n    for (int i = 0; i < {2}; ++i) {{\n"
        "      [[maybe_unused]] const Index row = first + i < {5} ? first + i : {5} - 1;\n      const Number state = "
        "{6};\n"
        "#pragma unroll\n      for (int g = 0; g < {1}; ++g) sums[g][i] += weight[g] * state;\n    }}\n  }}\n"
        "#pragma unroll\n  for (int i = 0; i < {2}; ++i) {{\n#pragma unroll\n    for (int g = 0; g < {1}; ++g) {{\n"
        "      const Number sum = combined<{3}, Sum<Number>>(sums[g][i]);\n"
        "      if (thread == i) products[g] = sum;\n    }}\n  }}\n",
        units_, gates(phase), rows_, warp, loaded_at(weights_, "weights", {"(" + gate + ")", "k"}), batch_, of_row);
  }

  std::string clipped(std::size_t activation, const std::string& name) const {
    std::string text;
    if (of_.clip)
      text = fmt::format("  {0} = smaller(larger({0}, {1}), {2});\n", name, literal(lane_, -*of_.clip),
                         literal(lane_, *of_.clip));
    return text + fmt::format("  {} = {};\n", name, activated(of_.activations[activation], lane_, name));
  }
  /// "  Number update = ...;\n", of what the input and the state give.
  std::string gate(std::string_view name, std::int64_t number, std::int64_t product) const {
    const std::string column = number == 0 ? "unit" : fmt::format("({} + unit)", number * units_);
    return fmt::format("  Number {} = {} + products[{}];\n", name, loaded_at(x_, "x", {"row", column}), product);
  }
  std::string peephole(std::string_view name, std::int64_t number, std::string_view c) const {
    if (!of_.has_peepholes) return "";
    const std::string at = fmt::format("({} + unit)", number * units_);
    return fmt::format("  {} += {} * {};\n", name, loaded_at(peepholes_, "peepholes", {at}), c);
  }
  std::string kept(const View& to, std::string_view name, const std::string& number) const {
    const std::string names[] = {"row", "unit"};
    return fmt::format("  {}[{}] = {};\n", name, place_text(names, std::span(to.strides).last(2)),
                       stored(to.type, lane_, number));
  }

  /// What a thread does whose row has not ended.
  std::string cell(Phase phase, bool is_first) const {
    std::string text =
        fmt::format("  const Index row = first + thread;\n  if (thread >= {} || row >= {} || unit >= {}) return;\n",
                    rows_, batch_, units_);
    if (of_.has_lengths) text += fmt::format("  if (time >= {}) return;\n", length("row"));
    if (of_.cell == Cell::lstm) return text + lstm(is_first);
    if (of_.cell == Cell::gru) return text + gru(phase, is_first);
    return text + gate("h", 0, 0) + clipped(0, "h") + kept(y_, "y", "h");
  }

  std::string gru(Phase phase, bool is_first) const {
    std::string text = fmt::format("  const Number h = {};\n", state(is_first, "row", "unit"));
    if (phase != Phase::candidate)
      text += gate("update", 0, 0) + clipped(0, "update") + gate("reset", 1, 1) + clipped(0, "reset");
    if (phase == Phase::gates) return text + kept(y_, "y", "update") + kept(last_h_, "scaled", "reset * h");
    if (phase == Phase::candidate) {
      text += fmt::format("  const Number update = {};\n", loaded_at(y_, "y", {"row", "unit"}));
      text += gate("candidate", 2, 0);
    } else {
      text += fmt::format("  Number candidate = {} + reset * (products[2] + {});\n",
                          loaded_at(x_, "x", {"row", fmt::format("({} + unit)", 2 * units_)}),
                          loaded_at(bias_, "bias", {"unit"}));
    }
    return text + clipped(1, "candidate") + kept(y_, "y", "(1 - update) * candidate + update * h");
  }

  /// Gates: input, output, forget, cell.
  std::string lstm(bool is_first) const {
    const std::string first = loaded_at(first_c_, "first_c", {"row", "unit"}),
                      before = loaded_at(c_, "c", {"row", "unit"});
    std::string text = fmt::format("  const Number c_before = {};\n",
                                   begins_late() ? fmt::format("{} ? {} : {}", starts("row"), first, before)
                                   : is_first    ? first
                                                 : before);
    text += gate("input", 0, 0) + peephole("input", 0, "c_before") + clipped(0, "input");
    text += of_.couples ? "  const Number forget = 1 - input;\n"
                        : gate("forget", 2, 2) + peephole("forget", 2, "c_before") + clipped(0, "forget");
    text += gate("candidate", 3, 3) + clipped(1, "candidate");
    text += "  const Number c_now = forget * c_before + input * candidate;\n";
    text += gate("output", 1, 1) + peephole("output", 1, "c_now") + clipped(0, "output");
    return text + kept(c_, "c", "c_now") + kept(y_, "y", "output * " + activated(of_.activations[2], lane_, "c_now"));
  }

  /// The last states, and zeros behind the ends of sequences.
  Launch last_launch() const {
    const LinearLoop loop(batch_ * units_);
    Launch made;
    for (const View& view : {y_, last_h_}) made.add_operand(view, true);
    std::string parameters = fmt::format("({}* y, {}* last_h", stored_type(y_.type), stored_type(last_h_.type));
    std::string body;
    const std::string zero = literal(lane_, 0);
    const auto y_at = [&](const std::string& time) {
      const std::string names[] = {time, "row", "unit"};
      return fmt::format("y[{}]", place_text(names, y_.strides));
    };
    std::string last = loaded(y_.type, lane_, y_at(of_.is_reverse ? "0" : "(length - 1)"));
    if (of_.has_lengths) {
      parameters += fmt::format(", const {}* lengths", stored_type(lengths_.type));
      made.add_operand(lengths_, false);
      body = fmt::format(
          "    const long long length = {};\n    if (length < 0 || length > {}) {{\n      *fault = 1;\n      "
          "continue;\n"
          "    }}\n    for (long long time = length; time < {}; ++time) {} = {};\n",
          length("row"), time_, time_, y_at("time"), stored(y_.type, lane_, zero));
      last = fmt::format("(length == 0 ? {} : {})", zero, last);
      if (of_.cell == Cell::lstm) {
        parameters += fmt::format(", {}* c", stored_type(c_.type));
        made.add_operand(c_, true);
        body += "    if (length == 0)\n    " + kept(c_, "c", zero);
      }
      parameters += ", unsigned* fault";
      made.fault = "a sequence is longer than the input";
    } else if (!of_.is_reverse) {
      body = fmt::format("    const long long length = {};\n", time_);
    }
    made.text = fmt::format("{}) {{\n{}    const long long row = at / {}u, unit = at % {}u;\n{}  {}{}}}\n", parameters,
                            loop.begin(), units_, units_, body, kept(last_h_, "last_h", last), loop.end());
    made.blocks = loop.blocks();
    made.threads = loop.threads();
    return made;
  }

  const plan::RecurrentParameters& of_;
  View x_, weights_, first_h_, first_c_, bias_, peepholes_, lengths_;
  View y_, last_h_, c_;
  std::int64_t time_, batch_, units_, rows_;
  Lane lane_ = Lane::f32;
  bool is_near_ = true;
};

Result<std::vector<Launch>> write_recurrent(const plan::Step& step, const Preparation&) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  if (static_cast<const plan::RecurrentParameters&>(*step.parameters).rounds_state)
    return make_error("not-supported", "states that are rounded by their range at each point in time");
  constexpr std::int64_t most_time = 4096, most_blocks = (std::int64_t{1} << 31) - 1;
  const plan::Dims& dims = step.inputs[0].dims;
  if (dims[0] > most_time) return make_error("not-supported", "a launch each for more than 4096 points in time");
  if (dims[1] * step.inputs[1].dims[1] > most_blocks)
    return make_error("not-supported", "more units and sequences than a launch has blocks");
  return RecurrentText(step).launches();
}

}  // namespace

void register_recurrent(StepRegistry& registry);
void register_recurrent(StepRegistry& registry) { registry.add(plan::recurrent_step, write_recurrent); }

}  // namespace onnxkit::cuda
