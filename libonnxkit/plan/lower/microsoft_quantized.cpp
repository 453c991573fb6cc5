// com.microsoft: means, softmax and choices of bytes, computed from exact sums in float64 and rounded once.
#include <algorithm>

#include "libonnxkit/plan/exact_parts.h"
#include "libonnxkit/plan/integers.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// An expression of float64 over inputs that it collects.
class QuantizedExpression {
 public:
  explicit QuantizedExpression(LowerCall& call) : call_(call) {}

  Expression e;

  Number operand(const View& view) {
    inputs_.push_back(view);
    return e.convert(e.input(inputs_.size() - 1, lane_of(view.type)), Lane::f64);
  }
  /// A scale or a zero point of one element.
  std::optional<Number> single(std::size_t input) {
    if (call_.input(input).size() != 1) return std::nullopt;
    return operand(reshaped_or_copied(call_, call_.input(input), {}));
  }
  Number zero_or_none(std::size_t input) {
    const auto stated = call_.has_input(input) ? single(input) : std::nullopt;
    return stated ? *stated : e.constant(Lane::f64, 0);
  }
  /// (number - zero point) * scale; the zero point counts `times`.
  std::optional<Number> real(Number number, std::size_t scale, std::size_t zero, std::optional<Number> times = {}) {
    const auto by = single(scale);
    if (!by) return std::nullopt;
    if (call_.has_input(zero)) {
      Number shift = zero_or_none(zero);
      if (times) shift = e.apply(Operation::multiply, shift, *times);
      number = e.apply(Operation::subtract, number, shift);
    }
    return e.apply(Operation::multiply, number, *by);
  }
  /// The real number as an integer of the type of output 0.
  std::optional<Number> quantize(Number number, std::size_t scale, std::size_t zero) {
    const auto by = single(scale);
    if (!by) return std::nullopt;
    const Number quotient = e.apply(Operation::divide, number, *by);
    return saturated(e, quotient, zero_or_none(zero), call_.output_type(0));
  }
  View made(ElementType stored, Dims dims) { return mapped(call_, e, std::move(inputs_), stored, std::move(dims)); }
  void write(const View& output) { call_.emit_map(e, std::move(inputs_), output); }

 private:
  LowerCall& call_;
  std::vector<View> inputs_;
};

constexpr char other_scales[] = "scales of other sizes";

/// Zero points that are there have one element.
bool has_single_zeros(LowerCall& call, std::initializer_list<std::size_t> inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](std::size_t input) { return !call.has_input(input) || call.input(input).size() == 1; });
}

/// The exact sum of bytes over the axes that go.
View sum_of_bytes(LowerCall& call, const View& x, const std::vector<bool>& goes) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < goes.size(); ++i) count *= goes[i] ? x.dims[i] : 1;
  const bool is_exact = static_cast<double>(count) * greatest_byte <= exact_up_to;
  return reduced(call, Reduction::sum, stored_as(call, x, is_exact ? ElementType::float32 : ElementType::int64), goes);
}

/// The mean over the axes that go, of the sizes of the output.
Unlowered quantized_mean(LowerCall& call, const std::vector<bool>& goes) {
  const View x = call.input(0);
  if (x.size() == 0) return "without elements";
  if (!has_single_zeros(call, {2, 4})) return "zero points of other sizes";
  const View sum = sum_of_bytes(call, x, goes);
  QuantizedExpression q(call);
  const Number total = q.operand(sum);
  const Number count = q.e.constant(Lane::f64, static_cast<double>(x.size() / sum.size()));
  const auto real = q.real(total, 1, 2, count);
  if (!real || !q.quantize(q.e.apply(Operation::divide, *real, count), 3, 4)) return other_scales;
  give(call, q.made(call.output_type(0), sum.dims));
  return std::nullopt;
}

Unlowered lower_quantized_reduce_mean(LowerCall& call) {
  const std::size_t rank = call.input(0).rank();
  const auto axes = call.integers("axes");
  std::vector<bool> goes(rank, !axes || axes->empty());
  for (const std::int64_t axis : axes.value_or(Dims())) goes[counted_axis(axis, rank)] = true;
  return quantized_mean(call, goes);
}

Unlowered lower_quantized_global_average_pool(LowerCall& call) {
  const std::size_t rank = call.input(0).rank();
  if (rank < 3) return "without axes of an image";
  std::vector<bool> goes = last_axes(rank, 1);
  goes[call.integer("channels_last") != 0 ? rank - 1 : 1] = false;
  return quantized_mean(call, goes);
}

// ---- AveragePool

constexpr std::int64_t line_channels_second[] = {0, 2, 1};

/// How many places of each window lie between `first` and `last`, along one axis of `count` windows.
std::vector<double> places_within(const Window& g, std::size_t axis, std::int64_t count, std::int64_t first,
                                  std::int64_t last) {
  const std::int64_t dilation = std::max<std::int64_t>(g.dilations[axis], 1);
  const auto taps_before = [&](std::int64_t start, std::int64_t end) {
    return start >= end ? 0 : std::min((end - start - 1) / dilation + 1, g.kernel[axis]);
  };
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = i * g.strides[axis] - g.pads[axis];
    result.push_back(static_cast<double>(taps_before(start, last) - taps_before(start, first)));
  }
  return result;
}

View product_of_places(LowerCall& call, const std::vector<double>& rows, const std::vector<double>& columns) {
  std::vector<float> all;
  call.spend_on_tables(static_cast<std::int64_t>(rows.size()), columns.size() * sizeof(float));
  for (const double row : rows)
    for (const double column : columns) all.push_back(static_cast<float>(row * column));
  return call.constant(all, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size())});
}

struct QuantizedPool {
  View means;  ///< float32
  Window window;
  Dims image;  ///< sizes of the channels
};

View places_of_windows(LowerCall& call, const QuantizedPool& pool, bool counts_padding) {
  const Window& g = pool.window;
  const auto along = [&](std::size_t axis) {
    const std::int64_t count = pool.means.dims[2 + axis], size = pool.image[axis];
    call.spend_on_tables(count, sizeof(double));
    return places_within(g, axis, count, counts_padding ? -g.pads[axis] : 0,
                         counts_padding ? size + g.pads[2 + axis] : size);
  };
  return product_of_places(call, along(0), along(1));
}

/// The mean of float32 times the number of places is a whole number but for what float32 rounds: the sum. The zero point is added before it is rounded
/// again.
Unlowered requantize_means(LowerCall& call, const QuantizedPool& pool, const View& result) {
  const bool counts_padding = call.integer("count_include_pad") != 0;
  QuantizedExpression q(call);
  Expression& e = q.e;
  const Number mean = q.operand(pool.means), inside = q.operand(places_of_windows(call, pool, false)),
               none = e.constant(Lane::f64, 0);
  const Number divisor = counts_padding ? q.operand(places_of_windows(call, pool, true)) : inside;
  Number sum = e.apply(Operation::round_half_even, e.apply(Operation::multiply, mean, inside));
  sum = e.apply(Operation::select, e.apply(Operation::equal, inside, none), none, sum);
  const auto real = q.real(sum, 1, 2, inside), by = q.single(3);
  if (!real || !by) return other_scales;
  const Number quotient = e.apply(Operation::select, e.apply(Operation::equal, divisor, none), none,
                                  e.apply(Operation::divide, *real, divisor));
  const Number shifted = e.apply(Operation::add, e.apply(Operation::divide, quotient, *by), q.zero_or_none(4));
  saturated(e, shifted, std::nullopt, call.output_type(0));
  q.write(result);
  return std::nullopt;
}

Unlowered lower_quantized_average_pool(LowerCall& call) {
  View x = call.input(0);
  if ((x.rank() != 3 && x.rank() != 4) || x.size() == 0) return "only images of one or two axes";
  if (!has_single_zeros(call, {2, 4})) return "zero points of other sizes";
  const auto kernel = call.integers("kernel_shape");
  constexpr std::int64_t most_taps = 8192;  // float32 tells sums of 255 * 8192 apart
  if (!kernel || kernel->size() + 2 != x.rank() || element_count(*kernel) > most_taps) return "windows of other sizes";
  const bool is_line = x.rank() == 3, is_last = call.integer("channels_last") != 0;
  if (is_last && call.string("auto_pad") != "NOTSET" && call.string("auto_pad") != "VALID")
    return "paddings that follow from sizes, with the channels last";
  Dims out = call.output_dims(0);
  if (is_last) {
    x = permuted(x, is_line ? std::span<const std::int64_t>(line_channels_second) : channels_second);
    std::rotate(out.begin() + 1, out.end() - 1, out.end());
  }
  Window g = window_geometry(call, *kernel);
  if (is_line) {
    g = with_height(std::move(g));
    x = with_height(x);
    out.insert(out.begin() + 2, 1);
  }
  PoolParameters parameters;
  parameters.is_maximum = false;
  parameters.kernel = g.kernel, parameters.strides = g.strides;
  parameters.dilations = g.dilations, parameters.pads = g.pads;
  const View means = make_channels_last(call, out);
  call.emit(pool_step, {channels_last(call, x)}, {means}, std::move(parameters));
  View result = call.make_like(call.output_type(0), out, means);
  const QuantizedPool pool{means, std::move(g), Dims(x.dims.begin() + 2, x.dims.end())};
  if (auto reason = requantize_means(call, pool, result)) return reason;
  if (is_last) result = permuted(result, channels_behind);
  if (is_line) result = without_axis(std::move(result), is_last ? 1 : 2);
  call.set_output(0, result);
  return std::nullopt;
}

// ---- softmax and choices

/// Before opset 13 the axes from the given one on count as one.
Unlowered lower_quantized_softmax(LowerCall& call) {
  View x = call.input(0);
  if (x.size() == 0 || x.rank() == 0) return "without elements";
  if (!has_single_zeros(call, {2, 4})) return "zero points of other sizes";
  const bool is_one_axis = call.integer("opset") >= 13;
  const std::size_t axis = counted_axis(call.integer("axis", is_one_axis ? -1 : 1), x.rank());
  const Dims dims = x.dims;
  const std::vector<bool> goes = is_one_axis ? [&] {
    std::vector<bool> one(x.rank(), false);
    one[axis] = true;
    return one;
  }() : last_axes(x.rank(), axis);
  Dims kept = dims;
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = goes[i] ? 1 : kept[i];
  const View integers = stored_as(call, x, ElementType::float32);
  const View most = reshaped(reduced(call, Reduction::maximum, integers, goes), kept);
  QuantizedExpression powers(call);
  const Number number = powers.operand(integers);
  const Number distance = powers.e.apply(Operation::subtract, number, powers.operand(most));
  const auto scale = powers.single(1);
  if (!scale) return other_scales;
  powers.e.apply(Operation::exponential, powers.e.apply(Operation::multiply, distance, *scale));
  const View raised = powers.made(ElementType::float64, dims);
  const View sums = reshaped(reduced(call, Reduction::sum, raised, goes), kept);
  QuantizedExpression q(call);
  const Number part = q.operand(raised);
  if (!q.quantize(q.e.apply(Operation::divide, part, q.operand(sums)), 3, 4)) return other_scales;
  give(call, q.made(call.output_type(0), dims));
  return std::nullopt;
}

/// x and y are quantized anew, then chosen.
Unlowered lower_quantized_where(LowerCall& call) {
  if (!has_single_zeros(call, {3, 6, 8})) return "zero points of other sizes";
  QuantizedExpression q(call);
  const auto anew = [&](std::size_t input) -> std::optional<Number> {
    const auto real = q.real(q.operand(call.input(input)), input + 1, input + 2);
    return real ? q.quantize(*real, 7, 8) : std::nullopt;
  };
  const Number condition = q.e.convert(q.operand(call.input(0)), Lane::i64);
  const auto x = anew(1), y = anew(4);
  if (!x || !y) return other_scales;
  q.e.apply(Operation::select, condition, *x, *y);
  give(call, q.made(call.output_type(0), call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_microsoft_quantized(LoweringRegistry& registry);
void register_microsoft_quantized(LoweringRegistry& registry) {
  const auto add = [&](const char* op, Lowering lowering) {
    registry.add("com.microsoft", op, all_versions(), lowering);
  };
  add("QLinearReduceMean", lower_quantized_reduce_mean);
  add("QLinearGlobalAveragePool", lower_quantized_global_average_pool);
  add("QLinearAveragePool", lower_quantized_average_pool);
  add("QLinearSoftmax", lower_quantized_softmax);
  add("QLinearWhere", lower_quantized_where);
}

}  // namespace onnxkit::plan
