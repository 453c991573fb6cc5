// Upsample and Resize without either: each axis is gathered anew, elements between others as weighted sums of what was gathered.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/core.h>

#include "converters/opset/compose/resampling.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

using Mode = SamplingRules::Mode;
using Rounding = SamplingRules::Rounding;

constexpr ElementType f32 = ElementType::float32;
constexpr ElementType f64 = ElementType::float64;

/// Arithmetic on values of the graph that are made as it goes.
class Ops {
 public:
  explicit Ops(Step& step) : step_(step) {}

  Step& step() { return step_; }
  ValueId cast(ValueId x, ElementType type) {
    return step_.add("Cast", {x}, {{"to", static_cast<std::int64_t>(type)}});
  }
  ValueId real(double value) { return step_.numbers(f64, {1}, {value}); }
  ValueId single(double value) { return step_.numbers(f32, {1}, {value}); }
  ValueId add(ValueId a, ValueId b) { return step_.add("Add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return step_.add("Sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return step_.add("Mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return step_.add("Div", {a, b}); }
  ValueId max(ValueId a, ValueId b) { return step_.add("Max", {a, b}); }
  ValueId min(ValueId a, ValueId b) { return step_.add("Min", {a, b}); }
  ValueId floor(ValueId a) { return step_.add("Floor", {a}); }
  ValueId ceil(ValueId a) { return step_.add("Ceil", {a}); }
  ValueId abs(ValueId a) { return step_.add("Abs", {a}); }
  ValueId less(ValueId a, ValueId b) { return step_.add("Less", {a, b}); }
  ValueId greater(ValueId a, ValueId b) { return step_.add("Greater", {a, b}); }
  /// 1 where true.
  ValueId indicator(ValueId condition, ElementType type = f64) { return cast(condition, type); }
  ValueId gather(ValueId x, std::vector<std::int64_t> at) {
    return step_.add("Gather", {x, step_.vector(at)}, {{"axis", std::int64_t{0}}});
  }
  ValueId reshape(ValueId x, const std::vector<std::int64_t>& shape) {
    return step_.add("Reshape", {x, step_.vector(shape)});
  }
  /// 0, 1 ... n - 1 as float64. `n`: int64, one element.
  ValueId counting(ValueId n) {
    ir::Tensor one;
    one.dims = {1};
    one.data_type = static_cast<std::int32_t>(ElementType::int64);
    constexpr std::int64_t content = 1;
    one.raw_data = step_.keep({reinterpret_cast<const char*>(&content), sizeof(content)});
    const ValueId ones = step_.value("ones");
    step_.emit("ConstantOfShape", {n}, {ones}).attributes.push_back(step_.attribute("value", std::move(one)));
    const ValueId indices = step_.add("NonZero", {ones});
    return cast(reshape(indices, {-1}), f64);
  }
  void sum(ValueId x, std::int64_t axis, bool keep, ValueId to) {
    std::vector<Attr> attributes = {{"keepdims", std::int64_t{keep}}};
    std::vector<ValueId> inputs = {x};
    if (step_.opset_after() < 13)
      attributes.push_back({"axes", std::vector<std::int64_t>{axis}});
    else
      inputs.push_back(step_.vector(std::vector<std::int64_t>{axis}));
    step_.emit("ReduceSum", std::move(inputs), {to}, std::move(attributes));
  }

 private:
  Step& step_;
};

/// What is known of an axis only when the model runs: float64 of one element each, but for `count`.
struct AxisValues {
  ValueId size, new_size, scale;
  ValueId count;  ///< new_size as int64
  ValueId begin = ValueId::none, end = ValueId::none;
};

/// Indices and weights of one axis, computed by the model.
class ComputedAxis {
 public:
  ComputedAxis(Step& step, const Resampling& r, std::size_t index)
      : ops_(step), r_(r), axis_(r.axes[index]), index_(index) {
    v_ = values();
    at_ = positions();
  }

  /// One element of the axis for each position.
  ValueId nearest() {
    const ValueId at = ops_.cast(at_, f32);
    const ValueId rounded = round(at);
    return ops_.cast(inside(ops_.cast(rounded, f64)), ElementType::int64);
  }

  /// Elements for each position, and their weights as float64; both of shape [positions, elements].
  std::pair<ValueId, ValueId> weighted() {
    const bool antialias = r_.rules.antialias;
    const double reach = r_.rules.mode == Mode::linear ? 1 : 2;
    const ValueId shrink = antialias ? ops_.min(v_.scale, ops_.real(1)) : ops_.real(1);
    const ValueId far = antialias ? ops_.div(ops_.real(reach), shrink) : ops_.real(reach);
    const ValueId offsets =
        antialias ? ops_.counting(ops_.cast(ops_.ceil(ops_.cast(ops_.mul(far, ops_.real(2)), f32)), ElementType::int64))
                  : ops_.step().numbers(f64, {static_cast<std::int64_t>(2 * reach)}, whole(2 * reach));
    const ValueId before = ops_.cast(ops_.floor(ops_.cast(ops_.sub(at_, far), f32)), f64);
    const ValueId first = ops_.reshape(ops_.add(before, ops_.real(1)), {-1, 1});
    const ValueId elements = ops_.add(first, offsets);
    const ValueId from_position = ops_.abs(ops_.mul(ops_.sub(elements, ops_.reshape(at_, {-1, 1})), shrink));
    ValueId weights = r_.rules.mode == Mode::linear ? linear(from_position) : cubic(from_position);
    if (r_.rules.exclude_outside) weights = ops_.mul(weights, is_inside(elements));
    if (antialias || r_.rules.exclude_outside) {
      const ValueId total = ops_.step().value("total");
      ops_.sum(weights, 1, true, total);
      weights = ops_.div(weights, total);
    }
    return {ops_.cast(inside(elements), ElementType::int64), weights};
  }

  /// Where tf_crop_and_resize looks outside.
  ValueId outside() {
    const ValueId at = ops_.cast(ops_.cast(at_, f32), f64);
    const ValueId last = ops_.sub(v_.size, ops_.real(1));
    return ops_.step().add("Or", {ops_.less(at, ops_.real(0)), ops_.greater(at, last)});
  }

 private:
  static std::vector<double> whole(double n) {
    std::vector<double> numbers;
    for (double i = 0; i < n; ++i) numbers.push_back(i);
    return numbers;
  }

  ValueId sizes_of(std::vector<std::int64_t> axes) {
    return ops_.gather(ops_.step().add("Shape", {r_.x}), std::move(axes));
  }

  AxisValues values() {
    AxisValues v;
    const auto at = static_cast<std::int64_t>(index_);
    if (r_.rules.crops()) {
      const auto count = static_cast<std::int64_t>(r_.axes.size());
      v.begin = ops_.cast(ops_.gather(r_.roi, {at}), f64);
      v.end = ops_.cast(ops_.gather(r_.roi, {at + count}), f64);
    }
    const ValueId size = sizes_of({axis_.axis});
    v.size = ops_.cast(size, f64);
    if (r_.scales != ValueId::none) {
      const ValueId scale = ops_.gather(r_.scales, {at});
      v.scale = ops_.cast(scale, f64);
      const ValueId part = r_.rules.crops() ? ops_.mul(ops_.cast(ops_.sub(v.end, v.begin), f32), scale) : scale;
      v.count = ops_.cast(ops_.floor(ops_.mul(ops_.cast(size, f32), part)), ElementType::int64);
    } else if (r_.keeps_ratio()) {
      v.scale = common_scale();
      v.count = ops_.cast(ops_.floor(ops_.add(ops_.mul(v.scale, v.size), ops_.real(0.5))), ElementType::int64);
    } else {
      v.count = ops_.gather(r_.sizes, {at});
      v.scale = ops_.div(ops_.cast(v.count, f64), v.size);
    }
    v.new_size = ops_.cast(v.count, f64);
    return v;
  }

  /// The least or greatest ratio of all axes that sizes speak of.
  ValueId common_scale() {
    std::vector<std::int64_t> axes;
    for (const ResampledAxis& axis : r_.axes) axes.push_back(axis.axis);
    const ValueId ratios = ops_.div(ops_.cast(r_.sizes, f64), ops_.cast(sizes_of(axes), f64));
    return ops_.step().add(r_.policy == "not_larger" ? "ReduceMin" : "ReduceMax", {ratios},
                           {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{1}}});
  }

  /// 1 where x is 0: equality of reals came with version 11.
  ValueId is_zero(ValueId x) {
    return ops_.indicator(ops_.step().add("Not", {ops_.greater(ops_.abs(x), ops_.real(0))}));
  }

  ValueId positions() {
    const std::string& rule = r_.rules.coordinates;
    const ValueId i = ops_.counting(v_.count), half = ops_.real(0.5), one = ops_.real(1);
    if (rule == "asymmetric") return ops_.div(i, v_.scale);
    const auto by_centers = [&] { return ops_.div(ops_.add(i, half), v_.scale); };
    if (rule == "half_pixel") return ops_.sub(by_centers(), half);
    if (rule == "pytorch_half_pixel")
      return ops_.mul(ops_.sub(by_centers(), half), ops_.indicator(ops_.greater(v_.new_size, one)));
    if (rule == "tf_half_pixel_for_nn")  // an axis that stays is not sampled between its elements
      return ops_.sub(by_centers(), ops_.mul(half, is_zero(ops_.sub(v_.scale, one))));
    const ValueId last = ops_.sub(v_.size, one);
    if (rule == "half_pixel_symmetric") {
      const ValueId missing = ops_.sub(one, ops_.div(v_.new_size, ops_.mul(v_.scale, v_.size)));
      return ops_.add(ops_.sub(by_centers(), half), ops_.mul(ops_.mul(v_.size, half), missing));
    }
    if (rule == "align_corners") {
      const ValueId steps = ops_.sub(ops_.mul(v_.scale, v_.size), one);
      return ops_.div(ops_.mul(i, last), ops_.add(steps, is_zero(steps)));
    }
    if (rule != "tf_crop_and_resize") refuse(fmt::format("unknown coordinate_transformation_mode {}", quote(rule)));
    const ValueId begin = ops_.mul(v_.begin, last), length = ops_.sub(ops_.mul(v_.end, last), begin);
    const ValueId steps = ops_.max(ops_.sub(v_.new_size, one), one);
    const ValueId alone = ops_.mul(ops_.indicator(ops_.less(v_.new_size, ops_.real(2))), half);
    return ops_.add(begin, ops_.mul(length, ops_.add(ops_.div(i, steps), alone)));
  }

  ValueId round(ValueId at) {
    if (r_.rules.rounding == Rounding::ceil) return ops_.ceil(at);
    const ValueId down = ops_.floor(at);
    if (r_.rules.rounding == Rounding::floor) return down;
    const ValueId rest = ops_.sub(at, down), half = ops_.single(0.5);
    if (r_.rules.rounding == Rounding::prefer_floor)
      return ops_.add(down, ops_.indicator(ops_.greater(rest, half), f32));
    if (r_.rules.rounding == Rounding::prefer_ceil)
      return ops_.add(down, ops_.indicator(ops_.step().add("Not", {ops_.less(rest, half)}), f32));
    const ValueId shrinks = ops_.less(v_.scale, ops_.real(1));
    return ops_.add(down, ops_.indicator(ops_.step().add("And", {ops_.greater(rest, ops_.single(0)), shrinks}), f32));
  }

  ValueId inside(ValueId element) { return ops_.max(ops_.min(element, ops_.sub(v_.size, ops_.real(1))), ops_.real(0)); }
  ValueId is_inside(ValueId element) {
    return ops_.indicator(ops_.step().add("And", {ops_.greater(element, ops_.real(-1)), ops_.less(element, v_.size)}));
  }

  ValueId linear(ValueId x) { return ops_.max(ops_.sub(ops_.real(1), x), ops_.real(0)); }

  ValueId polynomial(ValueId x, const std::vector<double>& coefficients) {
    ValueId sum = ops_.real(coefficients.front());
    for (std::size_t i = 1; i < coefficients.size(); ++i)
      sum = coefficients[i] == 0 ? ops_.mul(sum, x) : ops_.add(ops_.mul(sum, x), ops_.real(coefficients[i]));
    return sum;
  }
  ValueId cubic(ValueId x) {
    const double a = r_.rules.cubic_a;
    const ValueId near = ops_.indicator(ops_.less(x, ops_.real(1))), any = ops_.indicator(ops_.less(x, ops_.real(2)));
    const ValueId inner = ops_.mul(polynomial(x, {a + 2, -(a + 3), 0, 1}), near);
    const ValueId outer = ops_.mul(polynomial(x, {a, -5 * a, 8 * a, -4 * a}), ops_.sub(any, near));
    return ops_.add(inner, outer);
  }

  Ops ops_;
  const Resampling& r_;
  const ResampledAxis& axis_;
  const std::size_t index_;
  AxisValues v_;
  ValueId at_ = ValueId::none;
};

class Writer {
 public:
  Writer(Step& step, const Resampling& r) : step_(step), r_(r), ops_(step) {}

  void write() {
    if (!r_.axes_known) refuse_unknown("the rank of the input and the number of scales are unknown");
    if (r_.rules.mode != Mode::nearest) plan_type();
    for (std::size_t i = 0; i < r_.axes.size(); ++i) plan_axis(i);
    if (working_ != own_) stages_.push_back([this](ValueId from, ValueId to) { cast(from, own_, to); });
    if (stages_.empty()) stages_.push_back([this](ValueId from, ValueId to) { step_.emit("Identity", {from}, {to}); });
    ValueId from = r_.x;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const ValueId to = i + 1 == stages_.size() ? step_.output(0) : step_.value("resized");
      stages_[i](from, to);
      from = to;
    }
    step_.replace();
  }

 private:
  void cast(ValueId from, ElementType type, ValueId to) {
    step_.emit("Cast", {from}, {to}, {{"to", static_cast<std::int64_t>(type)}});
  }

  /// Sums of half-precision numbers are made in single precision.
  void plan_type() {
    own_ = working_ = step_.need_elem(r_.x);
    if (!is_floating(own_))
      refuse(fmt::format("runtimes round interpolated elements to {} differently, and only a Resize does so",
                         name_of(own_)));
    if (own_ == f32 || own_ == f64) return;
    working_ = f32;
    stages_.push_back([this](ValueId from, ValueId to) { cast(from, f32, to); });
  }

  void plan_axis(std::size_t index) {
    const ResampledAxis& axis = r_.axes[index];
    if (axis.stays) return;
    const auto sampled = axis.sampled();
    const bool knows_region = !r_.rules.crops() || axis.region;
    auto table = sampled && knows_region ? tap_table(*sampled, r_.rules) : std::nullopt;
    if (table) return plan_constant(axis.axis, *std::move(table));
    if (step_.opset_after() < 9)
      refuse_unknown(
          fmt::format("the size or scale of axis {} is known at run time only, and opsets below 9 have no operators to "
                      "compute the indices",
                      axis.axis));
    plan_computed(index);
  }

  // ---- constant indices and weights

  void plan_constant(std::int64_t axis, TapTable table) {
    std::size_t most = 0;
    bool any_outside = false;
    for (Taps& taps : table) {
      any_outside = any_outside || taps.outside;
      if (taps.outside) taps = {.outside = true, .from = {0}, .weights = {1}};
      most = std::max(most, taps.from.size());
    }
    std::vector<bool> outside;
    for (const Taps& taps : table) outside.push_back(taps.outside);
    if (most <= 1) {
      stages_.push_back([this, axis, table = std::move(table)](ValueId from, ValueId to) {
        std::vector<std::int64_t> elements;
        for (const Taps& taps : table) elements.push_back(taps.from.front());
        step_.emit("Gather", {from, step_.vector(elements, "indices")}, {to}, {{"axis", axis}});
      });
    } else {
      const std::int64_t rank = r_.rank ? *r_.rank : step_.need_rank(r_.x);
      stages_.push_back([this, axis, rank, most, table = std::move(table)](ValueId from, ValueId to) {
        weigh_constants(from, to, axis, rank, most, table);
      });
    }
    if (!any_outside) return;
    const std::int64_t rank = r_.rank ? *r_.rank : step_.need_rank(r_.x);
    stages_.push_back([this, axis, rank, outside](ValueId from, ValueId to) {
      std::vector<std::int64_t> dims(static_cast<std::size_t>(rank - axis), 1);
      dims.front() = static_cast<std::int64_t>(outside.size());
      const ValueId mask =
          step_.numbers(ElementType::boolean, std::move(dims), {outside.begin(), outside.end()}, "outside");
      extrapolate(mask, from, to);
    });
  }

  /// A position with fewer elements than others takes its last one in parts: half, a quarter and so on. A weight of 0 would turn infinities to NaN.
  void weigh_constants(ValueId from, ValueId to, std::int64_t axis, std::int64_t rank, std::size_t most,
                       const TapTable& table) {
    std::vector<double> indices, weights;
    for (const Taps& taps : table) {
      for (std::size_t k = 0; k < most; ++k) {
        const std::size_t own = std::min(k, taps.from.size() - 1);
        const std::size_t parts = most - taps.from.size() + 1;
        const std::size_t part = k < taps.from.size() ? 1 : k - taps.from.size() + 2;
        const bool is_parted = own + 1 == taps.from.size() && parts > 1;
        const int halvings = static_cast<int>(is_parted ? std::min(part, parts - 1) : 0);
        indices.push_back(static_cast<double>(taps.from[own]));
        weights.push_back(std::ldexp(taps.weights[own], -halvings));
      }
    }
    const auto positions = static_cast<std::int64_t>(table.size()), elements = static_cast<std::int64_t>(most);
    const ValueId gathered =
        step_.add("Gather", {from, step_.numbers(ElementType::int64, {positions, elements}, indices, "indices")},
                  {{"axis", axis}}, "gathered");
    std::vector<std::int64_t> dims = {positions, elements};
    std::vector<Attr> broadcast;
    if (step_.opset_after() < 7)
      broadcast = {{"broadcast", std::int64_t{1}}, {"axis", axis}};
    else
      dims.resize(static_cast<std::size_t>(rank - axis + 1), 1);
    const ValueId factors = step_.numbers(working_, std::move(dims), weights, "weights");
    const ValueId weighted = step_.add("Mul", {gathered, factors}, std::move(broadcast), "weighted");
    ops_.sum(weighted, axis + 1, false, to);
  }

  void extrapolate(ValueId mask, ValueId from, ValueId to) {
    const ElementType type = working_ == ElementType::undefined ? step_.need_elem(r_.x) : working_;
    step_.emit("Where", {mask, step_.number(type, r_.rules.extrapolation, "extrapolation"), from}, {to});
  }

  // ---- computed indices and weights

  void plan_computed(std::size_t index) {
    const std::int64_t axis = r_.axes[index].axis;
    const auto computed = std::make_shared<std::optional<ComputedAxis>>();
    if (r_.rules.mode == Mode::nearest) {
      stages_.push_back([this, index, axis, computed](ValueId from, ValueId to) {
        computed->emplace(step_, r_, index);
        const ValueId elements = (*computed)->nearest();
        step_.emit("Gather", {from, elements}, {to}, {{"axis", axis}});
      });
    } else {
      const std::int64_t rank = r_.rank ? *r_.rank : step_.need_rank(r_.x);
      stages_.push_back([this, index, axis, rank, computed](ValueId from, ValueId to) {
        computed->emplace(step_, r_, index);
        weigh_computed(**computed, from, to, axis, rank);
      });
    }
    if (!r_.rules.crops()) return;
    const std::int64_t rank = r_.rank ? *r_.rank : step_.need_rank(r_.x);
    stages_.push_back([this, axis, rank, computed](ValueId from, ValueId to) {
      std::vector<std::int64_t> dims(static_cast<std::size_t>(rank - axis), 1);
      dims.front() = -1;
      extrapolate(ops_.reshape((*computed)->outside(), dims), from, to);
    });
  }

  void weigh_computed(ComputedAxis& computed, ValueId from, ValueId to, std::int64_t axis, std::int64_t rank) {
    const auto [elements, real_weights] = computed.weighted();
    const ValueId gathered = step_.add("Gather", {from, elements}, {{"axis", axis}}, "gathered");
    ValueId weights = real_weights;
    if (working_ != f64) weights = ops_.cast(weights, working_);
    std::vector<std::int64_t> dims = {0, 0};
    dims.resize(static_cast<std::size_t>(rank - axis + 1), 1);
    if (dims.size() > 2) weights = ops_.reshape(weights, dims);
    const ValueId zero = step_.number(working_, 0, "zero");
    // An element of no weight has no part in the sum, whatever it is.
    const ValueId counts = ops_.greater(ops_.abs(weights), zero);
    const ValueId weighted = step_.add("Where", {counts, ops_.mul(gathered, weights), zero}, {}, "weighted");
    ops_.sum(weighted, axis + 1, false, to);
  }

  Step& step_;
  const Resampling& r_;
  Ops ops_;
  ElementType own_ = ElementType::undefined, working_ = ElementType::undefined;
  std::vector<std::function<void(ValueId, ValueId)>> stages_;
};

}  // namespace

void write_with_gather(Step& step, const Resampling& resampling) {
  refuse_two_readings(step, resampling);
  Writer(step, resampling).write();
}

}  // namespace onnxkit::opset
