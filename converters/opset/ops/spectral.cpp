// Windows, DFT, STFT and MelWeightMatrix came with opset 17; below, a transform is a product with a matrix of cosines and sines, in double. DFT's axis
// became an input with 20.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;
constexpr auto real_spectral = ElementType::float64;
/// Elements of a matrix that nodes compute: no model grows by it, but each run does.
constexpr std::int64_t most_computed = std::int64_t{1} << 24;

/// The axis was 1 where none was stated, and is the last but one now.
void axis_to_input(Step& step) {
  if (!step.is_reference("axis")) {
    step.set_input(2, step.scalar(step.integer("axis"), "axis"));
  } else {
    const ValueId axis = step.value("axis");
    ir::Attribute copy = clone(*step.node().find_attribute("axis"));
    copy.name = "value_int";
    step.emit("Constant", {}, {axis}).attributes.push_back(std::move(copy));
    step.set_input(2, axis);
  }
  step.remove("axis");
}

/// A signal with all before its axis as one axis and all behind it but the parts as another, so that the axis is 1.
struct Lines {
  ValueId all;
  Size positions;
  ValueId head, tail;  ///< sizes before and behind the axis

  /// The shape that the signal had, with other sizes of axis and parts.
  ValueId shape(Step& step, const Size& bins, const Size& parts) const {
    return step.add("Concat", {head, as_vector(step, bins), tail, as_vector(step, parts)}, {{"axis", std::int64_t{0}}},
                    "sizes");
  }
};

/// `given`: a vector of one element, the axis, perhaps from the end.
Lines laid_out(Step& step, ValueId x, ValueId given) {
  const auto list = [&](std::int64_t i) { return step.vector(List{i}); };
  const ValueId shape = step.add("Shape", {x}, {}, "shape");
  const ValueId from_front = step.add("Add", {given, step.add("Shape", {shape}, {}, "rank")}, {}, "axis");
  const ValueId is_negative = step.add("Less", {given, step.scalar(0)}, {}, "is_negative");
  const ValueId axis = step.add("Where", {is_negative, from_front, given}, {}, "axis");
  const ValueId next = step.add("Add", {axis, step.scalar(1)}, {}, "next");
  const ValueId head = step.add("Slice", {shape, list(0), axis}, {}, "head");
  const ValueId tail = step.add("Slice", {shape, next, list(-1)}, {}, "tail");
  const auto count = [&](ValueId sizes) {
    const ValueId all = step.add("Concat", {list(1), sizes}, {{"axis", std::int64_t{0}}}, "sizes");
    return Size::of(reduce(step, "ReduceProd", all, {0}, true, "count"));
  };
  const Size positions = Size::of(step.add("Gather", {shape, axis}, {}, "places"));
  return {reshape_to(step, x, {count(head), positions, count(tail), size_of(step, x, -1)}), positions, head, tail};
}

void around_computed_axis(Step& step) {
  const ValueId axis = reshape(step, cast(step, step.input(2), ElementType::int64), {1});
  const Lines lines = laid_out(step, step.input(0), axis);
  const ValueId spectrum = step.value("spectrum");
  step.set_input(0, lines.all);
  step.drop_inputs(2);
  step.set({"axis", std::int64_t{1}});
  step.set_output(0, spectrum);
  step.then();
  const ValueId shape = lines.shape(step, size_of(step, spectrum, 1), size_of(step, spectrum, 3));
  step.emit("Reshape", {spectrum, shape}, {step.output(0)});
  step.note("the axis is computed: the signal is transposed around it");
}

void axis_to_attribute(Step& step) {
  std::int64_t axis = -2;
  if (step.has_input(2)) {
    const auto stated = step.constant_integers(step.input(2));
    if (!stated) return around_computed_axis(step);
    if (stated->size() != 1) refuse("the axis is not a scalar");
    axis = stated->front();
  }
  step.set({"axis", axis});
  step.drop_inputs(2);
}

// ---- windows

/// The last node of a composition: a Cast to the type that an attribute names.
void emit_as(Step& step, ValueId x, std::string_view type_attribute) {
  ir::Attribute to = step.attribute({"to", static_cast<std::int64_t>(ElementType::float32)});
  if (const ir::Attribute* stated = step.node().find_attribute(type_attribute)) {
    to = clone(*stated);
    to.name = step.keep("to");
  }
  step.emit("Cast", {x}, {step.output(0)}).attributes.push_back(std::move(to));
  step.replace();
}

/// A number that a scalar input holds.
Size size_in(Step& step, std::size_t input) {
  if (const auto known = step.constant_integers(step.input(input)); known && known->size() == 1) return known->front();
  return Size::of(reshape(step, cast(step, step.input(input), ElementType::int64), {1}));
}

/// a0 - a1 cos(t) + a2 cos(2 t)
struct Cosines {
  double a0, a1, a2;
};

ValueId computed_window(Step& step, const Cosines& of, const Size& size, const Size& steps) {
  const ValueId positions = cast(step, count_up(step, size), real_spectral);
  const ValueId turns = step.add("Mul", {positions, step.number(real_spectral, 2 * std::numbers::pi)}, {}, "turns");
  const ValueId angle = step.add("Div", {turns, cast(step, as_vector(step, steps), real_spectral)}, {}, "angle");
  const ValueId once =
      step.add("Mul", {step.add("Cos", {angle}, {}, "cos"), step.number(real_spectral, of.a1)}, {}, "once");
  const ValueId window = step.add("Sub", {step.number(real_spectral, of.a0), once}, {}, "window");
  if (of.a2 == 0) return window;
  const ValueId doubled = step.add("Mul", {angle, step.number(real_spectral, 2)}, {}, "doubled");
  const ValueId twice =
      step.add("Mul", {step.add("Cos", {doubled}, {}, "cos"), step.number(real_spectral, of.a2)}, {}, "twice");
  return step.add("Add", {window, twice}, {}, "window");
}

void window_to_cosines(Step& step, const Cosines& of) {
  const Size size = size_in(step, 0);
  const Size steps = step.integer("periodic", 1) != 0 ? size : difference(step, size, 1);
  if (!size.known || !is_foldable(List{*size.known}))
    return emit_as(step, computed_window(step, of, size, steps), "output_datatype");
  std::vector<double> values;
  for (std::int64_t i = 0; i < *size.known; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(*steps.known);
    values.push_back(of.a0 - of.a1 * std::cos(turn) + of.a2 * std::cos(2 * turn));
  }
  emit_as(step, step.numbers(real_spectral, {*size.known}, values, "window"), "output_datatype");
}

Way cosines(double a0, double a1, double a2) {
  return adapt("rewritten as a formula with cosines", [a0, a1, a2](Step& step) {
    window_to_cosines(step, {a0, a1, a2});
  });
}

// ---- transforms

struct Transform {
  Size length;  ///< of the transform
  std::int64_t parts;
  bool inverse, onesided;

  bool to_real() const { return onesided && inverse; }
  Size bins(Step& step) const { return onesided && !inverse ? sum(step, quotient(step, length, 2), 1) : length; }
  /// Positions of the input that matter.
  Size most_positions(Step& step) const { return to_real() ? sum(step, quotient(step, length, 2), 1) : length; }
};

/// cos(2 pi part / whole), exact at quarters.
double cosine(std::int64_t part, std::int64_t whole) {
  const std::int64_t rest = (part % whole + whole) % whole;
  if (4 * rest % whole == 0) return rest == 0 ? 1 : 2 * rest == whole ? -1 : 0;
  const long double turn = static_cast<long double>(rest) / static_cast<long double>(whole);
  return static_cast<double>(std::cos(2 * std::numbers::pi_v<long double> * turn));
}
double sine(std::int64_t part, std::int64_t whole) { return cosine(4 * part - whole, 4 * whole); }

/// [positions * parts, bins * parts of the result]
ValueId stored_matrix(Step& step, const Transform& t, std::int64_t positions, std::int64_t bins) {
  const std::int64_t length = *t.length.known;
  std::vector<double> all;
  for (std::int64_t row = 0; row < positions * t.parts; ++row) {
    const std::int64_t position = row / t.parts;
    const bool is_imaginary = row % t.parts == 1;
    double factor = t.inverse ? 1 / static_cast<double>(length) : 1;
    if (t.to_real() && position != 0 && 2 * position != length) factor *= 2;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const double c = factor * cosine(position * bin, length);
      const double s = (t.inverse ? factor : -factor) * sine(position * bin, length);
      all.push_back(is_imaginary ? -s : c);
      if (!t.to_real()) all.push_back(is_imaginary ? c : s);
    }
  }
  return step.numbers(real_spectral, {positions * t.parts, bins * (t.to_real() ? 1 : 2)}, all, "matrix");
}

ValueId stacked(Step& step, ValueId a, ValueId b, std::int64_t axis) {
  return step.add("Concat", {unsqueeze(step, a, {axis}), unsqueeze(step, b, {axis})}, {{"axis", axis}}, "stacked");
}

ValueId computed_matrix(Step& step, const Transform& t, const Size& positions, const Size& bins) {
  const ValueId rows = unsqueeze(step, count_up(step, positions), {1}), length = as_vector(step, t.length);
  const ValueId turns =
      step.add("Mod", {step.add("Mul", {rows, count_up(step, bins)}, {}, "turns"), length}, {}, "turns");
  const ValueId whole = cast(step, length, real_spectral);
  const ValueId angle =
      step.add("Div",
               {step.add("Mul", {cast(step, turns, real_spectral), step.number(real_spectral, 2 * std::numbers::pi)},
                         {}, "angle"),
                whole},
               {}, "angle");
  ValueId c = step.add("Cos", {angle}, {}, "cos"), s = step.add("Sin", {angle}, {}, "sin");
  if (t.inverse) {
    c = step.add("Div", {c, whole}, {}, "cos");
    s = step.add("Div", {s, whole}, {}, "sin");
  }
  const ValueId minus = step.add("Neg", {s}, {}, "minus_sin");
  if (t.to_real()) {
    const ValueId at_ends = step.add("Or",
                                     {step.add("Equal", {rows, step.scalar(0)}, {}, "is_first"),
                                      step.add("Equal", {step.add("Add", {rows, rows}), length}, {}, "is_last")},
                                     {}, "is_end");
    const ValueId weight =
        step.add("Where", {at_ends, step.number(real_spectral, 1), step.number(real_spectral, 2)}, {}, "weight");
    const ValueId both = stacked(step, step.add("Mul", {c, weight}), step.add("Mul", {minus, weight}), 1);
    return reshape_to(step, both, {-1, bins});
  }
  ValueId all = t.inverse ? stacked(step, c, s, 2) : stacked(step, c, minus, 2);
  if (t.parts == 2) all = stacked(step, all, t.inverse ? stacked(step, minus, c, 2) : stacked(step, s, c, 2), 1);
  return reshape_to(step, all, {-1, product(step, bins, 2)});
}

/// x [.., positions along axis, .., parts] of this rank, in double.
ValueId transformed(Step& step, ValueId x, std::int64_t rank, std::int64_t axis, Size positions, const Transform& t) {
  if (const Size most = t.most_positions(step); !positions.known || !most.known || *positions.known > *most.known) {
    const auto list = [&](std::int64_t i) { return step.vector(List{i}); };
    x = step.add("Slice", {x, list(0), as_vector(step, most), list(axis)}, {}, "signal");
    positions = positions.known && most.known ? most : size_of(step, x, axis);
  }
  const Size bins = t.bins(step);
  const bool is_known = positions.known && bins.known && t.length.known;
  if (is_known && *positions.known > most_computed / std::max<std::int64_t>(1, *bins.known))
    refuse("the matrix that would replace the transform has more than 16 million elements");
  const bool is_stored = is_known && is_foldable(List{*positions.known, *bins.known});
  const ValueId matrix =
      is_stored ? stored_matrix(step, t, *positions.known, *bins.known) : computed_matrix(step, t, positions, bins);
  std::vector<std::int64_t> perm;
  for (std::int64_t i = 0; i < rank; ++i) perm.push_back(i == axis ? rank - 2 : i == rank - 2 ? axis : i);
  if (axis != rank - 2) x = transpose(step, x, perm);
  std::vector<Size> lines(static_cast<std::size_t>(rank - 2), 0);
  std::vector<Size> joined = lines, split = lines;
  joined.push_back(product(step, positions, t.parts));
  split.push_back(bins);
  split.emplace_back(t.to_real() ? 1 : 2);
  const ValueId y = step.add("MatMul", {reshape_to(step, x, joined), matrix}, {}, "spectrum");
  const ValueId parted = reshape_to(step, y, split);
  return axis == rank - 2 ? parted : transpose(step, parted, perm);
}

/// 1 for real numbers, 2 for complex ones, where it is known.
std::optional<std::int64_t> known_parts(Step& step, ValueId x) {
  const checker::Shape* shape = step.shape(x);
  if (!shape || shape->empty() || !shape->back().is_constant()) return std::nullopt;
  const std::int64_t parts = shape->back().constant();
  if (parts != 1 && parts != 2) refuse("the last axis holds neither real nor complex numbers");
  return parts;
}

/// Real numbers get imaginary parts of 0, complex ones stay.
ValueId completed(Step& step, ValueId x, std::int64_t rank) {
  List pads(static_cast<std::size_t>(2 * rank), 0);
  pads.back() = 1;
  return slice(step, pad(step, x, real_spectral, pads, 0, "padded"), rank - 1, 0, 2, "complex");
}

void emit_in_own_type(Step& step, ValueId y) {
  const ElementType own = step.need_elem(step.input(0));
  step.emit("Cast", {y}, {step.output(0)}, {{"to", static_cast<std::int64_t>(own)}});
  step.replace();
}

/// Without the length, which depends on the positions that are there.
Transform transform_of(Step& step, std::int64_t parts) {
  const Transform t{0, parts, step.integer("inverse") != 0, step.integer("onesided") != 0};
  if (t.onesided && t.inverse != (t.parts == 2))
    refuse("a one-sided transform goes from real to complex numbers, its inverse back");
  return t;
}

Size length_of_spectral(Step& step, const Transform& t, const Size& positions) {
  const Size length = step.has_input(1) ? size_in(step, 1)
                      : t.to_real()     ? product(step, difference(step, positions, 1), 2)
                                        : positions;
  if (length.known && *length.known < 1) refuse("the transform has no length");
  return length;
}

/// The rank, or whether the signal is complex, is not known.
void unknown_dft_to_product(Step& step) {
  const bool is_onesided = step.integer("onesided") != 0, is_inverse = step.integer("inverse") != 0;
  Lines lines = laid_out(step, cast(step, step.input(0), real_spectral), step.vector(List{step.integer("axis", 1)}));
  if (!is_onesided) lines.all = completed(step, lines.all, 4);
  Transform t = transform_of(step, is_onesided && !is_inverse ? 1 : 2);
  t.length = length_of_spectral(step, t, lines.positions);
  const ValueId y = transformed(step, lines.all, 4, 1, lines.positions, t);
  const ValueId shape = lines.shape(step, t.bins(step), t.to_real() ? 1 : 2);
  emit_in_own_type(step, step.add("Reshape", {y, shape}, {}, "spectrum"));
}

void dft_to_product(Step& step) {
  const ValueId x = step.input(0);
  const auto parts = known_parts(step, x);
  if (!parts) return unknown_dft_to_product(step);
  const std::int64_t rank = step.need_rank(x), axis = counted_from_front(step, step.integer("axis", 1), x);
  if (axis < 0 || axis >= rank - 1) refuse("the axis is not a signal axis");
  const Size positions = size_of(step, x, axis);
  Transform t = transform_of(step, *parts);
  t.length = length_of_spectral(step, t, positions);
  emit_in_own_type(step, transformed(step, cast(step, x, real_spectral), rank, axis, positions, t));
}

void stft_to_product(Step& step) {
  enum Input : std::size_t { signal, frame_step, window, frame_length };
  const ValueId given = step.input(signal);
  const ValueId x = step.rank(given) == 2 ? unsqueeze(step, given, {2}, "signal") : given;
  const Size there = size_of(step, given, 1), pace = size_in(step, frame_step);
  const Size length = step.has_input(frame_length) ? size_in(step, frame_length)
                      : step.has_input(window)     ? size_of(step, step.input(window), 0)
                                                   : there;
  if (pace.known && *pace.known < 1) refuse("the frame step is not positive");
  if (length.known && *length.known < 1) refuse("the transform has no length");
  const Size frames = sum(step, quotient(step, difference(step, there, length), pace), 1);
  const ValueId starts =
      step.add("Mul", {unsqueeze(step, count_up(step, frames), {1}), as_vector(step, pace)}, {}, "starts");
  const ValueId positions = step.add("Add", {starts, count_up(step, length)}, {}, "places");
  const bool is_onesided = step.integer("onesided", 1) != 0;
  const auto parts = x == given ? known_parts(step, x) : std::optional<std::int64_t>(1);
  if (is_onesided && parts == 2) refuse("the spectrum of complex numbers is not symmetric");
  const ValueId wide = cast(step, x, real_spectral), all = parts || is_onesided ? wide : completed(step, wide, 3);
  ValueId framed = step.add("Gather", {all, positions}, {{"axis", std::int64_t{1}}}, "frames");
  if (step.has_input(window)) {
    const ValueId weights = unsqueeze(step, cast(step, step.input(window), real_spectral), {1});
    framed = step.add("Mul", {framed, weights}, {}, "windowed");
  }
  const Transform t{length, parts ? *parts : is_onesided ? 1 : 2, false, is_onesided};
  emit_in_own_type(step, transformed(step, framed, 4, 2, length, t));
}

// ---- mel

double mel_of(double hertz) { return 2595 / std::numbers::ln10 * std::log1p(hertz / 700); }
double hertz_of(double mel) { return 700 * std::expm1(mel / 2595 * std::numbers::ln10); }

void mel_to_constant(Step& step) {
  std::vector<double> given;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto known = step.constant_real(step.input(i));
    if (!known) refuse_unknown("an input is computed at run time, but the matrix is only written as a constant");
    given.push_back(*known);
  }
  constexpr double most = 1 << 28;
  if (!(given[0] >= 0 && given[0] <= most && given[1] >= 0 && given[1] <= most && given[2] > 0))
    refuse("a count or the sample rate is out of range");
  const auto bands = static_cast<std::int64_t>(given[0]), length = static_cast<std::int64_t>(given[1]);
  const std::int64_t bins = length / 2 + 1;
  storable_count(List{bins, bands});
  const double low = mel_of(given[3]), high = mel_of(given[4]);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double mel = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz_of(mel) / given[2]);
    if (!(bin >= 0 && bin <= static_cast<double>(bins))) refuse("an edge is outside the spectrum");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  std::vector<double> weights;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    for (std::size_t band = 0; band < static_cast<std::size_t>(bands); ++band) {
      const std::int64_t lower = edges[band], center = edges[band + 1], upper = edges[band + 2];
      double weight = bin == center ? 1 : 0;
      if (lower <= bin && bin < center) weight = static_cast<double>(bin - lower) / static_cast<double>(center - lower);
      if (center < bin && bin < upper) weight = static_cast<double>(upper - bin) / static_cast<double>(upper - center);
      weights.push_back(weight);
    }
  }
  emit_as(step, step.numbers(real_spectral, {bins, bands}, weights, "weights"), "output_datatype");
}

}  // namespace

void register_spectral(StepRegistry& registry) {
  registry.introduced({"HannWindow"}, 17, cosines(0.5, 0.5, 0));
  registry.introduced({"HammingWindow"}, 17, cosines(25.0 / 46, 21.0 / 46, 0));
  registry.introduced({"BlackmanWindow"}, 17, cosines(0.42, 0.5, 0.08));
  registry.introduced({"MelWeightMatrix"}, 17, adapt("rewritten as a constant", mel_to_constant));
  registry.introduced({"DFT"}, 17, adapt("rewritten as a product with cosines and sines", dft_to_product));
  registry.introduced({"STFT"}, 17, adapt("rewritten as frames times cosines and sines", stft_to_product));
  registry.change({"DFT"}, 20, adapt("axis becomes an input", axis_to_input),
                  adapt("axis becomes an attribute", axis_to_attribute));
}

}  // namespace onnxkit::opset
