// DFT and STFT: products with a constant matrix, whose rows and columns are the real and imaginary parts of numbers side by side.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

/// A transform of lines of `given` numbers, zeros behind them up to `length`.
struct LineTransform {
  std::int64_t length = 0, given = 0, in_parts = 1;
  bool is_inverse = false, is_onesided = false;

  bool to_real() const { return is_onesided && is_inverse; }
  std::int64_t out_parts() const { return to_real() ? 1 : 2; }
  std::int64_t bins() const { return is_onesided && !is_inverse ? length / 2 + 1 : length; }
  std::int64_t rows() const { return read() * in_parts; }
  /// Numbers of a line that count: half a spectrum stands for the other half, too.
  std::int64_t read() const { return std::min(given, to_real() ? length / 2 + 1 : length); }
};

/// [rows, bins * parts], computed in double and rounded once.
View make_transform_matrix(LowerCall& call, const LineTransform& t) {
  const std::int64_t columns = t.bins() * t.out_parts();
  call.spend_on_tables(t.length, 2 * sizeof(double));
  call.spend_on_tables(t.rows() * columns, sizeof(float));
  std::vector<double> cosines, sines;  // of k turns divided by the length, exact at quarters
  for (std::int64_t k = 0; k < t.length; ++k) {
    const auto quarter =
        static_cast<std::int64_t>(std::llround(4 * static_cast<double>(k) / static_cast<double>(t.length)));
    const auto rest = static_cast<double>(4 * k - quarter * t.length);
    const double angle = rest / static_cast<double>(t.length) * (std::numbers::pi / 2);
    const double c = std::cos(angle), s = std::sin(angle);
    cosines.push_back(quarter % 4 == 0 ? c : quarter % 4 == 1 ? -s : quarter % 4 == 2 ? -c : s);
    sines.push_back(quarter % 4 == 0 ? s : quarter % 4 == 1 ? c : quarter % 4 == 2 ? -s : -c);
  }
  std::vector<float> matrix(static_cast<std::size_t>(t.rows() * columns));
  const double factor = t.is_inverse ? 1 / static_cast<double>(t.length) : 1, sign = t.is_inverse ? 1 : -1;
  for (std::int64_t i = 0; i < t.read(); ++i) {
    const bool is_alone =
        i == 0 || 2 * i == t.length;  // of half a spectrum: it has no mirror image, nor an imaginary part
    const double weight = t.to_real() && !is_alone ? 2 * factor : factor;
    for (std::int64_t k = 0; k < t.bins(); ++k) {
      const auto turn = static_cast<std::size_t>(i * k % t.length);
      const double c = weight * cosines[turn], s = weight * sign * sines[turn];
      for (std::int64_t part = 0; part < t.in_parts; ++part) {
        const std::int64_t at = (i * t.in_parts + part) * columns + k * t.out_parts();
        const bool counts = part == 0 || !t.to_real() || !is_alone;
        matrix[static_cast<std::size_t>(at)] = static_cast<float>(!counts ? 0 : part == 0 ? c : -s);
        if (t.out_parts() == 2) matrix[static_cast<std::size_t>(at + 1)] = static_cast<float>(part == 0 ? s : c);
      }
    }
  }
  return call.constant(matrix, {t.rows(), columns});
}

View transform_matrix(LowerCall& call, const LineTransform& t) {
  const std::string key = fmt::format("transform of {} by {} and {}, {} {}", t.length, t.read(), t.in_parts,
                                      t.is_inverse ? "back" : "forth", t.is_onesided ? "half" : "whole");
  return call.shared_constant(key, [&] { return make_transform_matrix(call, t); });
}

bool fits(const LineTransform& t) {
  return t.length > 0 && t.read() > 0 && t.length <= most_matrix_elements &&
         t.rows() <= most_matrix_elements / (t.bins() * t.out_parts());
}

/// Lines [..., given * parts] as [..., bins, parts].
View transformed_lines(LowerCall& call, const View& lines, const LineTransform& t) {
  const View read = sliced(lines, lines.rank() - 1, 0, 1, t.rows());
  Dims dims = lines.dims;
  dims.back() = t.bins() * t.out_parts();
  const View product = matrix_product(call, read, transform_matrix(call, t), dims);
  dims.back() = t.bins();
  dims.push_back(t.out_parts());
  return reshaped(product, dims);
}

constexpr char long_lines[] = "a matrix of the transform would be large";

Unlowered lower_dft(LowerCall& call) {
  if (call.since() < 20) return "an old version";
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const View x = call.as_real(call.input(0));
  if (x.rank() < 2 || x.size() == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  const auto stated = call.has_input(2) ? call.constant_integers(2) : std::optional(std::vector<std::int64_t>{-2});
  if (!stated || stated->size() != 1) return "the axis is not constant";
  const std::size_t axis = counted_axis(stated->front(), x.rank()), last = x.rank() - 1;
  if (axis >= last) return "an axis of another kind";
  LineTransform t{.given = x.dims[axis],
                  .in_parts = x.dims[last],
                  .is_inverse = call.integer("inverse") != 0,
                  .is_onesided = call.integer("onesided") != 0};
  if (t.in_parts > 2 || (t.is_onesided && (t.in_parts == 2) != t.is_inverse)) return "parts of another number";
  t.length = t.to_real() ? 2 * (t.given - 1) : t.given;
  if (call.has_input(1)) {
    const auto length = call.constant_integers(1);
    if (!length || length->size() != 1) return "the length is not constant";
    t.length = length->front();
  }
  if (!fits(t)) return long_lines;
  Dims order = order_with_last(last, axis);
  order.push_back(static_cast<std::int64_t>(last));
  const View turned = permuted(x, order);
  Dims lined(turned.dims.begin(), turned.dims.end() - 1);
  lined.back() *= t.in_parts;
  give(call, permuted(transformed_lines(call, reshaped_or_copied(call, turned, lined), t), inverse_order(order)));
  return std::nullopt;
}

Unlowered lower_stft(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return "only for real numbers of 32 bits and less";
  const View signal = call.contiguous(call.as_real(call.input(0)));
  if ((signal.rank() != 2 && signal.rank() != 3) || signal.size() == 0) return "without elements";
  const auto step = call.constant_integers(1);
  if (!step || step->size() != 1 || step->front() <= 0) return "the step is not constant";
  std::int64_t length = call.has_input(2) ? call.input(2).size() : signal.dims[1];
  if (call.has_input(3)) {
    const auto stated = call.constant_integers(3);
    if (!stated || stated->size() != 1) return "the length is not constant";
    length = stated->front();
  }
  if (call.has_input(2) && call.input_dims(2) != Dims{length}) return "a window of another length";
  const std::int64_t parts = signal.rank() == 2 ? 1 : signal.dims[2];
  if (length <= 0 || length > signal.dims[1] || parts > 2) return "frames of another form";
  const LineTransform t{
      .length = length, .given = length, .in_parts = parts, .is_onesided = call.integer("onesided", 1) != 0};
  if (t.is_onesided && parts != 1) return "parts of another number";
  if (!fits(t)) return long_lines;
  const std::int64_t apart = std::min(step->front(), signal.dims[1]);  // beyond this there is one frame
  View frames = signal;                                                // they overlap
  frames.dims = {signal.dims[0], (signal.dims[1] - length) / apart + 1, length, parts};
  frames.strides = {signal.dims[1] * parts, apart * parts, parts, 1};
  if (call.has_input(2)) {
    const View window = reshaped_or_copied(call, call.as_real(call.input(2)), {length, 1});
    Expression e;
    e.apply(Operation::multiply, e.input(0, Lane::f32), e.input(1, Lane::f32));
    frames = mapped(call, e, {frames, window}, ElementType::float32, frames.dims);
  } else {
    const View copied = call.make(ElementType::float32, frames.dims);
    call.emit_copy(frames, copied);
    frames = copied;
  }
  const View lines = reshaped(frames, {frames.dims[0], frames.dims[1], length * parts});
  give(call, transformed_lines(call, lines, t));
  return std::nullopt;
}

}  // namespace

void register_spectral(LoweringRegistry& registry);
void register_spectral(LoweringRegistry& registry) {
  registry.add("DFT", all_versions(), lower_dft);
  registry.add("STFT", all_versions(), lower_stft);
}

}  // namespace onnxkit::plan
