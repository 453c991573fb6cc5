// Resize, Upsample: each axis sampled anew. Upsample and Resize 10 take scales, place position i at i / scale, and know nearest and linear only;
// nearest rounds down, but up where the axis shrinks. Resize 11 brings the rules of where positions lie, how they are rounded, cubic, regions and
// sizes; 13 makes what is not used omissible; 18 antialias, axes and policies for the aspect ratio; 19 half_pixel_symmetric.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// How one axis is resized.
struct Axis {
  std::int64_t size, new_size;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
  bool resized = false;
  /// The new length before it was rounded to new_size.
  double length() const { return scale * static_cast<double>(size); }
};

enum class ResizeMode { nearest, linear, cubic };
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil, shrinking_up };

struct Rules {
  ResizeMode mode = ResizeMode::nearest;
  std::string_view coordinates = "asymmetric";
  Rounding rounding = Rounding::shrinking_up;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

ResizeMode mode_of_resize(std::string_view name) {
  if (name == "nearest") return ResizeMode::nearest;
  if (name == "linear" || name == "bilinear") return ResizeMode::linear;
  require(name == "cubic", "unknown mode");
  return ResizeMode::cubic;
}

Rounding rounding_of(std::string_view name) {
  if (name == "floor") return Rounding::floor;
  if (name == "ceil") return Rounding::ceil;
  if (name == "round_prefer_ceil") return Rounding::prefer_ceil;
  require(name == "round_prefer_floor", "unknown nearest_mode");
  return Rounding::prefer_floor;
}

Rules rules_of_resize(const KernelContext& context) {
  Rules rules;
  rules.mode = mode_of_resize(context.string("mode"));
  if (context.schema().name == "Upsample" || context.since() < 11) return rules;
  rules.coordinates = context.string("coordinate_transformation_mode");
  rules.rounding = rounding_of(context.string("nearest_mode"));
  rules.antialias = context.integer("antialias") != 0 && rules.mode != ResizeMode::nearest;
  rules.exclude_outside = context.integer("exclude_outside") != 0;
  rules.cubic_a = context.real("cubic_coeff_a", -0.75F);
  rules.extrapolation = context.real("extrapolation_value");
  return rules;
}

/// Where position i of the new axis lies on the old one.
double source_position(const Axis& axis, std::string_view rule, std::int64_t i) {
  const auto at = static_cast<double>(i), size = static_cast<double>(axis.size), length = axis.length();
  if (rule == "half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (rule == "asymmetric") return at / axis.scale;
  if (rule == "pytorch_half_pixel") return axis.new_size > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  if (rule == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;  // versions 11 and 12
  if (rule == "align_corners") return length == 1 ? 0 : at * (size - 1) / (length - 1);
  if (rule == "half_pixel_symmetric") {
    const double offset = size / 2 * (1 - static_cast<double>(axis.new_size) / length);
    return offset + (at + 0.5) / axis.scale - 0.5;
  }
  require(rule == "tf_crop_and_resize", "unknown coordinate_transformation_mode");
  const double begin = axis.roi_begin * (size - 1), end = axis.roi_end * (size - 1);
  return axis.new_size > 1 ? begin + at * (end - begin) / static_cast<double>(axis.new_size - 1) : (begin + end) / 2;
}

/// What decides by a comparison looks at positions in single precision, as scales are given: i / 0.33333334f reaches 3.
double single(double x) { return static_cast<double>(static_cast<float>(x)); }

std::int64_t nearest(double at, const Axis& axis, Rounding rounding) {
  const auto round = [&] {
    switch (rounding) {
      case Rounding::floor:
        return std::floor(at);
      case Rounding::ceil:
        return std::ceil(at);
      case Rounding::prefer_ceil:
        return std::floor(at + 0.5);
      case Rounding::prefer_floor:
        return std::ceil(at - 0.5);
      default:
        return axis.scale < 1 ? std::ceil(at) : std::floor(at);
    }
  };
  return static_cast<std::int64_t>(std::clamp(round(), 0.0, static_cast<double>(axis.size - 1)));
}

/// What a position takes from the old axis.
struct Taps {
  bool outside = false;  ///< of what tf_crop_and_resize may look at
  std::vector<std::int64_t> from;
  std::vector<double> weights;
};

double linear_filter(double x) { return std::max(1 - std::abs(x), 0.0); }

double cubic_filter(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// A filter around the position, stretched by 1 / scale when antialiasing an axis that shrinks. Positions outside the axis repeat its ends, or
/// are left out and the others made to add up to 1.
Taps interpolated(double at, const Axis& axis, const Rules& rules) {
  const double shrink = rules.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (rules.mode == ResizeMode::linear ? 1 : 2) / shrink;
  require(reach <= 1 << 20, "a scale is too small for the antialiasing filter");
  const auto last = static_cast<double>(axis.size - 1);
  Taps taps;
  double total = 0;
  for (double i = std::floor(at - reach) + 1; i < at + reach; ++i) {
    const double x = (i - at) * shrink;
    const double weight = rules.mode == ResizeMode::linear ? linear_filter(x) : cubic_filter(x, rules.cubic_a);
    if (weight == 0 || (rules.exclude_outside && (i < 0 || i > last))) continue;
    const auto from = static_cast<std::int64_t>(std::clamp(i, 0.0, last));
    if (!taps.from.empty() && taps.from.back() == from) {
      taps.weights.back() += weight;
    } else {
      taps.from.push_back(from);
      taps.weights.push_back(weight);
    }
    total += weight;
  }
  if ((rules.antialias || rules.exclude_outside) && total != 0) {
    for (double& weight : taps.weights) weight /= total;
  }
  return taps;
}

/// `noise` is for interpolation only: which element is nearest is decided in single precision, as by all runtimes.
std::vector<Taps> taps_of_resize(const Axis& axis, const Rules& rules, const Noise* noise) {
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < axis.new_size; ++i) {
    double at = source_position(axis, rules.coordinates, i);
    const double rounded = single(at);
    require(std::abs(at) < 1e15, "a position is out of range");
    if (noise) at = noise->position(at, static_cast<std::uint64_t>(i));
    Taps taps;
    if (rules.mode == ResizeMode::nearest)
      taps = {.outside = false, .from = {nearest(rounded, axis, rules.rounding)}, .weights = {1}};
    else
      taps = interpolated(at, axis, rules);
    if (noise && rules.mode != ResizeMode::nearest) {
      for (std::size_t k = 0; k < taps.weights.size(); ++k)
        taps.weights[k] = noise->weight(taps.weights[k], static_cast<std::uint64_t>(i) * 64 + k);
    }
    taps.outside = rules.crops() && (rounded < 0 || rounded > static_cast<double>(axis.size - 1));
    all.push_back(std::move(taps));
  }
  return all;
}

/// In nearest mode any element moves.
Tensor resize_nearest(const KernelContext& context, const Tensor& x, const std::vector<Axis>& axes,
                      const Rules& rules) {
  Dims dims;
  std::vector<std::vector<Taps>> taps;
  for (const Axis& axis : axes) {
    dims.push_back(axis.new_size);
    taps.push_back(axis.resized ? taps_of_resize(axis, rules, nullptr) : std::vector<Taps>());
  }
  std::optional<Tensor> fill;
  if (rules.crops() && x.domain() != Domain::string && x.domain() != Domain::complex) {
    fill = context.make(x.type(), {});
    dispatch_scalars(x.domain(),
                     [&]<class T>(std::type_identity<T>) { fill->write<T>()[0] = from_real<T>(rules.extrapolation); });
  }
  return select(
      context, x, std::move(dims),
      [&](std::int64_t axis, std::int64_t i) {
        const auto& own = taps[static_cast<std::size_t>(axis)];
        if (own.empty()) return i;
        const Taps& tap = own[static_cast<std::size_t>(i)];
        return tap.outside ? no_source : tap.from.front();
      },
      fill ? &*fill : nullptr);
}

/// One axis of a tensor of reals.
Tensor resize_axis(const KernelContext& context, const Tensor& x, std::int64_t at, const Axis& axis,
                   const Rules& rules) {
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(at)] = axis.new_size;
  Tensor y = context.make(x.type(), std::move(dims));
  if (y.size() == 0) return y;
  const std::vector<Taps> taps = taps_of_resize(axis, rules, context.noise());
  for_each_strided_row<double, double>(context, x, y, at, [&](StridedRow<const double> from, StridedRow<double> to) {
    for (std::int64_t i = 0; i < to.size(); ++i) {
      const Taps& own = taps[static_cast<std::size_t>(i)];
      double sum = own.outside ? rules.extrapolation : 0;
      for (std::size_t k = 0; !own.outside && k < own.from.size(); ++k) sum += own.weights[k] * from[own.from[k]];
      to[i] = sum;
    }
  });
  return y;
}

/// Integers are interpolated as reals, then rounded and kept in the range of their type.
Tensor resize_smooth(const KernelContext& context, const Tensor& x, const std::vector<Axis>& axes, const Rules& rules) {
  Tensor y = x;
  if (x.domain() != Domain::real) {
    y = context.make(ElementType::float64, x.dims());
    const std::vector<double> reals = x.reals();
    std::copy(reals.begin(), reals.end(), y.write<double>().begin());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].resized) y = resize_axis(context, y, static_cast<std::int64_t>(i), axes[i], rules);
  }
  if (x.domain() == Domain::real) return y;
  Tensor rounded = context.make(x.type(), y.dims());
  dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
    const double least = static_cast<double>(least_of(x.type()));
    const double greatest = x.type() == ElementType::uint64 ? 0x1p64 : static_cast<double>(greatest_of(x.type()));
    const std::span<const double> from = y.as<double>();
    std::transform(from.begin(), from.end(), rounded.write<T>().begin(),
                   [&](double value) { return from_real<T>(std::clamp(std::nearbyint(value), least, greatest)); });
  });
  return rounded;
}

/// The scale of each axis that is resized, or the new size, and where to crop.
class Plan {
 public:
  Plan(const KernelContext& context, const Rules& rules) : context_(context), rules_(rules), x_(context.input(0)) {
    for (const std::int64_t size : x_.dims()) axes_.push_back({.size = size, .new_size = size});
    if (const auto stated = context.integers("axes"))
      for (const std::int64_t axis : *stated) resized_.push_back(normalize_axis(axis, x_.rank()));
    else
      resized_ = identity_index(x_.rank());
    normalize_axes(resized_, x_.rank());
  }

  std::vector<Axis> axes() {
    const bool is_upsample = context_.schema().name == "Upsample";
    if (is_upsample && context_.since() < 7) {
      require(x_.rank() == 4, "the input must have 4 axes");
      by_scales({1, 1, context_.real("height_scale", 1), context_.real("width_scale", 1)});
    } else if (is_upsample && context_.since() < 9) {
      by_scales(context_.reals("scales").value_or(std::vector<float>()));
    } else {
      const std::size_t scales = is_upsample || context_.since() < 11 ? 1 : 2;
      if (scales == 2 && rules_.crops()) read_roi();
      if (is_given(scales))
        by_scales(singles(context_.input(scales)));
      else
        by_sizes();
    }
    for (Axis& axis : axes_) {
      require(axis.new_size == 0 || axis.size > 0, "an axis without elements cannot be resized");
      const bool crops = rules_.crops() && (axis.roi_begin != 0 || axis.roi_end != 1);
      axis.resized = axis.new_size != axis.size || axis.scale != 1 || crops;
    }
    return axes_;
  }

 private:
  /// Older exporters write an empty tensor for what is not there.
  bool is_given(std::size_t input) const { return context_.has_input(input) && context_.input(input).size() > 0; }

  Axis& axis(std::size_t i) { return axes_[static_cast<std::size_t>(resized_[i])]; }

  static std::vector<float> singles(const Tensor& tensor) {
    const std::vector<double> reals = tensor.reals();
    return {reals.begin(), reals.end()};
  }

  void read_roi() {
    require(is_given(1), "tf_crop_and_resize requires the input roi");
    const std::vector<double> roi = context_.input(1).reals();
    require(roi.size() == 2 * resized_.size(), "roi must have a begin and an end for each axis");
    for (std::size_t i = 0; i < resized_.size(); ++i) {
      axis(i).roi_begin = roi[i];
      axis(i).roi_end = roi[i + resized_.size()];
    }
  }

  /// The sizes are computed in single precision, in which 10 * 0.7 is 7.
  void by_scales(const std::vector<float>& scales) {
    require(scales.size() == resized_.size(), "there must be one scale per axis");
    for (std::size_t i = 0; i < scales.size(); ++i) {
      require(scales[i] > 0, "scales must be positive");
      Axis& own = axis(i);
      own.scale = scales[i];
      const auto part = static_cast<float>(own.roi_end - own.roi_begin);
      const float size = std::floor(static_cast<float>(own.size) * (rules_.crops() ? part * scales[i] : scales[i]));
      require(0 <= size && size < 0x1p62F, "a new size is out of range");
      own.new_size = static_cast<std::int64_t>(size);
    }
  }

  void by_sizes() {
    require(is_given(3), "neither scales nor sizes are given");
    const std::vector<std::int64_t> sizes = context_.input(3).integers();
    require(sizes.size() == resized_.size(), "there must be one size per axis");
    const std::string_view policy = context_.string("keep_aspect_ratio_policy");
    const bool keeps = policy == "not_larger" || policy == "not_smaller";
    require(keeps || policy.empty() || policy == "stretch", "unknown keep_aspect_ratio_policy");
    std::optional<double> common;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(sizes[i] >= 0, "a size is negative");
      Axis& own = axis(i);
      require(own.size > 0 || sizes[i] == 0, "an axis without elements cannot be resized");
      own.new_size = sizes[i];
      own.scale = own.size == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(own.size);
      if (!common) common = own.scale;
      common = policy == "not_larger" ? std::min(*common, own.scale) : std::max(*common, own.scale);
    }
    for (std::size_t i = 0; keeps && i < sizes.size(); ++i) {
      Axis& own = axis(i);
      own.scale = *common;
      const double size = std::floor(own.length() + 0.5);
      require(size < 0x1p62, "a new size is out of range");
      own.new_size = static_cast<std::int64_t>(size);
    }
  }

  const KernelContext& context_;
  const Rules& rules_;
  const Tensor& x_;
  std::vector<Axis> axes_;
  std::vector<std::int64_t> resized_;
};

void resize(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Rules rules = rules_of_resize(context);
  const std::vector<Axis> axes = Plan(context, rules).axes();
  Dims dims;
  for (const Axis& axis : axes) dims.push_back(axis.new_size);
  // Sizes beyond the limit of memory are refused before tables of positions are made for them.
  const Tensor room = context.make(x.type(), dims);
  if (room.size() == 0)
    context.set_output(0, room);
  else if (rules.mode == ResizeMode::nearest)
    context.set_output(0, resize_nearest(context, x, axes, rules));
  else
    context.set_output(0, resize_smooth(context, x, axes, rules));
}

}  // namespace

void register_resize(KernelRegistry& registry) {
  registry.add("Upsample", all_versions(), resize, {.noise = noise::interpolation});
  registry.add("Resize", all_versions(), resize, {.noise = noise::interpolation});
}

}  // namespace onnxkit::reference
