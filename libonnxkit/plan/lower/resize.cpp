#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/compose.h"

// Resize: each axis by a gather of what its positions take, weighted there or in a map; by a product where a position takes many.
namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

struct ResizedAxis {
  std::int64_t size = 0, new_size = 0;
  double scale = 1, roi_begin = 0, roi_end = 1;
  bool is_resized = false;
};

/// What a position takes from the old axis; nothing for one outside.
struct Tap {
  bool is_outside = false;
  std::vector<std::int64_t> from;
  std::vector<double> weights;
};

struct ResizeRules {
  std::string mode, coordinates, rounding;
  bool antialias = false, excludes_outside = false, crops = false;
  double cubic_a = -0.75, extrapolation = 0;
};

std::optional<double> resized_position(const ResizedAxis& axis, const std::string& rule, std::int64_t index) {
  const auto at = static_cast<double>(index), size = static_cast<double>(axis.size);
  const auto new_size = static_cast<double>(axis.new_size);
  const double length = axis.scale * size;
  if (rule == "half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (rule == "asymmetric") return at / axis.scale;
  if (rule == "pytorch_half_pixel") return axis.new_size > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  if (rule == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (rule == "align_corners") return length == 1 ? 0 : at * (size - 1) / (length - 1);
  if (rule == "half_pixel_symmetric") return size / 2 * (1 - new_size / length) + (at + 0.5) / axis.scale - 0.5;
  if (rule != "tf_crop_and_resize") return std::nullopt;
  const double begin = axis.roi_begin * (size - 1), end = axis.roi_end * (size - 1);
  return axis.new_size > 1 ? begin + at * (end - begin) / (new_size - 1) : (begin + end) / 2;
}

double nearest_position(double at, const std::string& rounding) {
  if (rounding == "floor") return std::floor(at);
  if (rounding == "ceil") return std::ceil(at);
  return rounding == "round_prefer_ceil" ? std::floor(at + 0.5) : std::ceil(at - 0.5);
}

double resize_filter(double x, const ResizeRules& rules) {
  x = std::abs(x);
  if (rules.mode == "linear") return std::max(1 - x, 0.0);
  const double a = rules.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

constexpr double widest_filter = 4096;
constexpr std::size_t few_taps = 4;  ///< as a cubic filter has that does not shrink

double shrink_of(const ResizedAxis& axis, const ResizeRules& rules) {
  return rules.antialias ? std::min(axis.scale, 1.0) : 1.0;
}

/// How far from a position the filter is not zero.
double reach_of(const ResizedAxis& axis, const ResizeRules& rules) {
  return (rules.mode == "linear" ? 1 : 2) / shrink_of(axis, rules);
}

Tap interpolation(double at, const ResizedAxis& axis, const ResizeRules& rules) {
  const double shrink = shrink_of(axis, rules), reach = reach_of(axis, rules);
  const auto last = static_cast<double>(axis.size - 1);
  Tap tap;
  double total = 0;
  for (double i = std::floor(at - reach) + 1; i < at + reach; ++i) {
    const double weight = resize_filter((i - at) * shrink, rules);
    if (weight == 0 || (rules.excludes_outside && (i < 0 || i > last))) continue;
    const auto from = static_cast<std::int64_t>(std::clamp(i, 0.0, last));
    if (!tap.from.empty() && tap.from.back() == from) {
      tap.weights.back() += weight;
    } else {
      tap.from.push_back(from);
      tap.weights.push_back(weight);
    }
    total += weight;
  }
  if ((rules.antialias || rules.excludes_outside) && total != 0) {
    for (double& weight : tap.weights) weight /= total;
  }
  return tap;
}

/// With what its lists hold, which grow to at most twice their numbers.
std::uint64_t bytes_of_tap(const ResizedAxis& axis, const ResizeRules& rules) {
  const double reach = rules.mode == "nearest" ? 0 : 2 * reach_of(axis, rules);
  return sizeof(Tap) + static_cast<std::uint64_t>(reach + 1) * 2 * (sizeof(std::int64_t) + sizeof(double));
}

std::optional<std::vector<Tap>> resize_taps(LowerCall& call, const ResizedAxis& axis, const ResizeRules& rules) {
  std::vector<Tap> taps;
  if (rules.antialias && 2 / std::min(axis.scale, 1.0) > widest_filter) return std::nullopt;
  call.spend_on_tables(axis.new_size, bytes_of_tap(axis, rules));
  for (std::int64_t i = 0; i < axis.new_size; ++i) {
    const auto at = resized_position(axis, rules.coordinates, i);
    constexpr double farthest = 1e15;
    if (!at || !(std::abs(*at) < farthest)) return std::nullopt;
    // What decides by a comparison looks at positions in single precision, as scales are given.
    const auto single = static_cast<double>(static_cast<float>(*at));
    const auto last = static_cast<double>(axis.size - 1);
    Tap tap;
    if (rules.mode == "nearest")
      tap = {.from = {static_cast<std::int64_t>(std::clamp(nearest_position(single, rules.rounding), 0.0, last))},
             .weights = {1}};
    else
      tap = interpolation(*at, axis, rules);
    tap.is_outside = rules.crops && (single < 0 || single > last);
    taps.push_back(std::move(tap));
  }
  return taps;
}

View real_constant(LowerCall& call, const std::vector<double>& values, ElementType type, Dims dims) {
  if (type == ElementType::float32) {
    const std::vector<float> singles(values.begin(), values.end());
    return call.constant(singles, std::move(dims));
  }
  return call.constant(values, std::move(dims));
}

/// The sizes of `view` with another one for an axis.
Dims with_size(const View& view, std::size_t axis, std::int64_t size) {
  Dims dims = view.dims;
  dims[axis] = size;
  return dims;
}

/// The tap with `count` weights: the first one in halves, which give the same sum. A weight of 0 would make NaN of an infinity.
Tap spread_tap(Tap tap, std::size_t count) {
  if (tap.from.empty()) tap.from = {0}, tap.weights = {0};
  while (tap.from.size() < count) {
    tap.from.insert(tap.from.begin(), tap.from.front());
    tap.weights.front() /= 2;
    tap.weights.insert(tap.weights.begin(), tap.weights.front());
  }
  return tap;
}

View resized_by_taps(LowerCall& call, const View& view, std::size_t axis, std::vector<Tap> taps, std::size_t most,
                     ElementType type) {
  const auto count = static_cast<std::int64_t>(taps.size());
  call.spend_on_tables(count * static_cast<std::int64_t>(most), sizeof(double));
  for (Tap& tap : taps) tap = spread_tap(std::move(tap), most);
  std::vector<std::int64_t> positions;
  std::vector<View> inputs, weights;
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<double> factors;
    for (const Tap& tap : taps) {
      positions.push_back(tap.from[k]);
      factors.push_back(tap.weights[k]);
    }
    weights.push_back(real_constant(call, factors, type, along_axis(view.rank(), axis, count)));
  }
  const View all = taken(call, view, axis, positions);
  Expression e;
  const Lane lane = lane_of(type);
  std::optional<Number> sum;
  for (std::size_t k = 0; k < most; ++k) {
    inputs.push_back(sliced(all, axis, static_cast<std::int64_t>(k) * count, 1, count));
    inputs.push_back(weights[k]);
    const Number number = e.convert(e.input(2 * k, lane_of(view.type)), lane);
    const Number term = e.apply(Operation::multiply, number, e.input(2 * k + 1, lane));
    sum = sum ? e.apply(Operation::add, *sum, term) : term;
  }
  const View result = call.make_like(type, with_size(view, axis, count), sliced(all, axis, 0, 1, count));
  call.emit_map(e, std::move(inputs), result);
  return result;
}

View resized_by_gather(LowerCall& call, const View& from, std::size_t axis, const std::vector<Tap>& taps,
                       std::size_t most, ElementType type) {
  const auto count = static_cast<std::int64_t>(taps.size()), each = static_cast<std::int64_t>(most);
  call.spend_on_tables(count * each, sizeof(std::int64_t) + sizeof(double));
  std::vector<std::int64_t> positions;
  std::vector<double> weights;
  for (const Tap& tap : taps) {
    for (std::size_t k = 0; k < most; ++k) {
      positions.push_back(k < tap.from.size() ? tap.from[k] : -1);
      weights.push_back(k < tap.from.size() ? tap.weights[k] : 0);
    }
  }
  const LinedAxis lined = lined_axis(call, stored_as(call, from, type), axis);
  const View result = call.make(type, {lined.outer(), count, lined.inner()});
  // Lines of single numbers are the columns of one row, which share the positions.
  constexpr std::int64_t turned[] = {2, 1, 0};
  const auto in_rows = [&](const View& view) { return lined.inner() == 1 ? permuted(view, turned) : view; };
  const View rows = in_rows(lined.rows);
  const Dims taken = {rows.dims[0], count, each};
  call.emit(weighted_gather_step,
            {rows, broadcast_to(call.constant(positions, {1, count, each}), taken),
             broadcast_to(real_constant(call, weights, type, {1, count, each}), taken)},
            {in_rows(result)}, WeightedGatherParameters());
  return lined.restored(result);
}

/// Positions take rows of some length, which vectors of numbers hold, or few single numbers.
bool is_gathered(LowerCall& call, const View& view, std::size_t axis, std::size_t most) {
  constexpr std::int64_t vector = 16;
  if (!view.is_dense()) return false;
  const std::int64_t inner = lined_axis(call, view, axis).inner();
  return inner >= vector || (inner == 1 && most <= few_taps);
}

template <class T>
View weight_matrix(LowerCall& call, const std::vector<Tap>& taps, std::int64_t size) {
  const auto count = static_cast<std::int64_t>(taps.size());
  call.spend_on_tables(size * count, sizeof(T));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size * count) * sizeof(T));
  const std::span matrix(reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(size * count));
  for (std::size_t i = 0; i < taps.size(); ++i) {
    for (std::size_t k = 0; k < taps[i].from.size(); ++k)
      matrix[static_cast<std::size_t>(taps[i].from[k]) * taps.size() + i] = static_cast<T>(taps[i].weights[k]);
  }
  constexpr ElementType type = sizeof(T) == sizeof(float) ? ElementType::float32 : ElementType::float64;
  return call.constant(*Tensor::from_bytes(type, {size, count}, std::move(bytes)));
}

/// All that the weights of an axis depend on.
std::string key_of(const ResizedAxis& axis, const ResizeRules& rules, ElementType type) {
  return fmt::format("resize {} {} {} {} {} {} {} {} {} {} {}", axis.size, axis.new_size, axis.scale, axis.roi_begin,
                     axis.roi_end, rules.mode, rules.coordinates, rules.antialias, rules.excludes_outside,
                     rules.cubic_a, name_of(type));
}

/// Nothing where the matrix would be large, which is mostly zeros.
std::optional<View> resized_by_product(LowerCall& call, const View& view, std::size_t axis,
                                       const std::vector<Tap>& taps, const std::string& key, ElementType type) {
  const auto count = static_cast<std::int64_t>(taps.size());
  const std::int64_t size = view.dims[axis];
  if (size > most_matrix_elements / count) return std::nullopt;
  const View matrix = call.shared_constant(key, [&] {
    return type == ElementType::float32 ? weight_matrix<float>(call, taps, size)
                                        : weight_matrix<double>(call, taps, size);
  });
  const Dims order = order_with_last(view.rank(), axis);
  const View lined = call.contiguous(permuted(stored_as(call, view, type), order));
  const View result = multiplied(call, reshaped(lined, {lined.size() / size, size}), matrix);
  Dims dims = lined.dims;
  dims.back() = count;
  return permuted(reshaped(result, std::move(dims)), inverse_order(order));
}

View interpolated(LowerCall& call, const View& view, std::size_t axis, const std::vector<Tap>& taps,
                  const std::string& key, ElementType type) {
  std::size_t most = 1;
  for (const Tap& tap : taps) most = std::max(most, tap.from.size());
  if (type == ElementType::float32 && is_gathered(call, view, axis, most))
    return resized_by_gather(call, view, axis, taps, most, type);
  if (most <= few_taps) return resized_by_taps(call, view, axis, taps, most, type);
  if (const auto product = resized_by_product(call, view, axis, taps, key, type)) return *product;
  return resized_by_gather(call, view, axis, taps, most, type);
}

/// Without its fraction, in the range of the type; NaN counts as 0.
std::int64_t nearest_integer(ElementType type, double number) {
  const std::int64_t least = least_of(type), greatest = greatest_of(type);
  if (std::isnan(number)) return std::clamp<std::int64_t>(0, least, greatest);
  if (number <= static_cast<double>(least)) return least;
  return number >= static_cast<double>(greatest) ? greatest : static_cast<std::int64_t>(number);
}

/// The axes to resize in an order that makes few elements: what gets shorter comes first. Of what gets longer the innermost does, so that the others
/// take whole rows.
std::vector<std::size_t> order_of_resizing(const std::vector<ResizedAxis>& axes) {
  std::vector<std::size_t> order;
  const auto shrinks = [&](std::size_t i) { return axes[i].new_size < axes[i].size; };
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].is_resized && shrinks(i)) order.push_back(i);
  for (std::size_t i = axes.size(); i-- > 0;)
    if (axes[i].is_resized && !shrinks(i)) order.push_back(i);
  return order;
}

/// The filling where a position lies outside the axis.
View filled_outside(LowerCall& call, const View& view, std::size_t axis, const std::vector<Tap>& taps, double filling) {
  if (std::none_of(taps.begin(), taps.end(), [](const Tap& tap) { return tap.is_outside; })) return view;
  std::vector<std::int64_t> outside;
  for (const Tap& tap : taps) outside.push_back(tap.is_outside);
  const View mask = call.constant(outside, along_axis(view.rank(), axis, view.dims[axis]));
  Expression e;
  const Lane lane = lane_of(view.type);
  const Number number = e.input(1, lane), is_outside = e.input(0, Lane::i64);
  const Number constant =
      lane == Lane::i64 ? e.integer(nearest_integer(view.type, filling)) : e.constant(lane, filling);
  e.apply(Operation::select, is_outside, constant, number);
  const View result = call.make_like(view.type, view.dims, view);
  call.emit_map(e, {mask, view}, result);
  return result;
}

Unlowered resized_axes(LowerCall& call, const ResizeRules& rules, std::vector<ResizedAxis>& axes) {
  const Dims& from = call.input_dims(0);
  const Dims to = call.output_dims(0);
  for (std::size_t i = 0; i < from.size(); ++i) axes.push_back({.size = from[i], .new_size = to[i]});
  std::vector<std::size_t> named;
  if (const auto stated = call.integers("axes")) {
    for (const std::int64_t axis : *stated) named.push_back(counted_axis(axis, from.size()));
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) named.push_back(i);
  }
  if (rules.crops) {
    const auto roi = call.constant_reals(1);
    if (!roi || roi->size() != 2 * named.size()) return "regions are not constant";
    for (std::size_t i = 0; i < named.size(); ++i)
      axes[named[i]].roi_begin = (*roi)[i], axes[named[i]].roi_end = (*roi)[i + named.size()];
  }
  const bool by_scales = call.has_input(2) && call.input(2).size() > 0;
  if (by_scales) {
    const auto scales = call.constant_reals(2);
    if (!scales || scales->size() != named.size()) return "scales are not constant";
    for (std::size_t i = 0; i < named.size(); ++i)
      axes[named[i]].scale = static_cast<double>(static_cast<float>((*scales)[i]));
  } else {
    const auto sizes = call.constant_integers(3);
    if (!sizes || sizes->size() != named.size()) return "sizes are not constant";
    std::optional<double> common;
    const auto policy = call.string("keep_aspect_ratio_policy");
    for (std::size_t i = 0; i < named.size(); ++i) {
      ResizedAxis& axis = axes[named[i]];
      axis.scale = static_cast<double>((*sizes)[i]) / static_cast<double>(axis.size);
      if (!common) common = axis.scale;
      common = policy == "not_larger" ? std::min(*common, axis.scale) : std::max(*common, axis.scale);
    }
    for (std::size_t i = 0; i < named.size() && (policy == "not_larger" || policy == "not_smaller"); ++i)
      axes[named[i]].scale = *common;
  }
  for (ResizedAxis& axis : axes) {
    if (!(axis.scale > 0)) return "a scale is not positive";
    const bool is_cut = rules.crops && (axis.roi_begin != 0 || axis.roi_end != 1);
    axis.is_resized = axis.new_size != axis.size || axis.scale != 1 || is_cut;
  }
  return std::nullopt;
}

Unlowered lower_resize(LowerCall& call) {
  if (call.since() < 11) return "an old version";
  if (!has_lane(call.input_type(0))) return "elements cannot be computed";
  if (call.input(0).size() == 0 || element_count(call.output_dims(0)) == 0) return "without elements";
  ResizeRules rules;
  rules.mode = call.string("mode");
  if (rules.mode == "bilinear") rules.mode = "linear";
  rules.coordinates = call.string("coordinate_transformation_mode");
  rules.rounding = call.string("nearest_mode");
  const bool is_nearest = rules.mode == "nearest";
  rules.antialias = call.integer("antialias") != 0 && !is_nearest;
  rules.excludes_outside = call.integer("exclude_outside") != 0;
  rules.crops = rules.coordinates == "tf_crop_and_resize";
  rules.cubic_a = static_cast<double>(call.real("cubic_coeff_a", -0.75F));
  rules.extrapolation = static_cast<double>(call.real("extrapolation_value"));
  if (!is_nearest && rules.mode != "linear" && rules.mode != "cubic") return "an unknown mode";
  std::vector<ResizedAxis> axes;
  if (auto reason = resized_axes(call, rules, axes)) return reason;
  View view = call.input(0);
  const bool is_integer = lane_of(view.type) == Lane::i64;
  const ElementType type = lane_of(view.type) == Lane::f32 ? ElementType::float32 : ElementType::float64;
  for (const std::size_t i : order_of_resizing(axes)) {
    const auto taps = resize_taps(call, axes[i], rules);
    if (!taps) return "a position is out of range";
    if (is_nearest) {
      std::vector<std::int64_t> positions;
      for (const Tap& tap : *taps) positions.push_back(tap.from.front());
      view = taken(call, view, i, positions);
    } else {
      view = interpolated(call, view, i, *taps, key_of(axes[i], rules, type), type);
    }
    view = filled_outside(call, view, i, *taps, rules.extrapolation);
  }
  if (is_integer && view.type == ElementType::float64) {
    const auto [least, greatest] = std::pair(static_cast<double>(least_of(call.output_type(0))),
                                             static_cast<double>(greatest_of(call.output_type(0))));
    Expression e;
    Number number = e.apply(Operation::round_half_even, e.input(0, Lane::f64));
    number = e.apply(Operation::maximum, number, e.constant(Lane::f64, least));
    number = e.apply(Operation::minimum, number, e.constant(Lane::f64, greatest));
    e.convert(number, Lane::i64);
    view = mapped(call, e, {view}, call.output_type(0), view.dims);
  }
  call.set_output(0, stored_as(call, view, LowerCall::stored_type(call.output_type(0))));
  return std::nullopt;
}

}  // namespace

void register_resize(LoweringRegistry& registry);
void register_resize(LoweringRegistry& registry) { registry.add("Resize", all_versions(), lower_resize); }

}  // namespace onnxkit::plan
