#include "converters/opset/compose/resampling.h"

#include <algorithm>
#include <cmath>

#include "converters/opset/engine/sizes.h"

namespace onnxkit::opset {
namespace {

using Mode = SamplingRules::Mode;
using Rounding = SamplingRules::Rounding;

Mode mode_of(std::string_view name) {
  if (name == "nearest") return Mode::nearest;
  if (name == "cubic") return Mode::cubic;
  return Mode::linear;  // also bilinear, trilinear
}

Rounding rounding_of(std::string_view name) {
  if (name == "floor") return Rounding::floor;
  if (name == "ceil") return Rounding::ceil;
  return name == "round_prefer_ceil" ? Rounding::prefer_ceil : Rounding::prefer_floor;
}

SamplingRules rules_of(const Step& step) {
  SamplingRules rules = version_10_rules(mode_of(step.string("mode")));
  if (step.before().name == "Upsample" || step.before().since_version < 11) return rules;
  rules.coordinates = step.string("coordinate_transformation_mode");
  rules.rounding = rounding_of(step.string("nearest_mode"));
  rules.antialias = step.integer("antialias") != 0 && rules.mode != Mode::nearest;
  rules.exclude_outside = step.integer("exclude_outside") != 0;
  rules.cubic_a = step.real("cubic_coeff_a", -0.75F);
  rules.extrapolation = step.real("extrapolation_value");
  return rules;
}

/// Older exporters write an empty tensor for what is not there.
void read_scales_or_sizes(Step& step, Resampling& r) {
  const ValueId scales = step.input(2), sizes = step.input(3);
  const auto is_surely_empty = [&](ValueId value) { return length_of_axis_list(step, value) == 0; };
  const auto is_surely_given = [&](ValueId value) { return length_of_axis_list(step, value).value_or(0) > 0; };
  if (sizes == ValueId::none || is_surely_empty(sizes) || is_surely_given(scales)) {
    r.scales = scales;
  } else if (scales == ValueId::none || is_surely_empty(scales) || is_surely_given(sizes)) {
    r.sizes = sizes;
  } else {
    refuse_unknown("either scales or sizes is empty, but which one is unknown");
  }
}

std::optional<std::vector<double>> given_scales(Step& step, const Resampling& r) {
  if (step.before().name == "Upsample" && step.before().since_version < 7)
    return std::vector<double>{1, 1, step.real("height_scale", 1), step.real("width_scale", 1)};
  if (step.before().name == "Upsample" && step.before().since_version < 9) {
    const auto scales = step.reals("scales").value_or(std::vector<float>());
    return std::vector<double>(scales.begin(), scales.end());
  }
  return r.scales == ValueId::none ? std::nullopt : step.constant_reals(r.scales);
}

void find_axes(Step& step, Resampling& r, const std::optional<std::vector<double>>& scales) {
  r.rank = step.rank(r.x);
  const auto stated = step.integers("axes");
  if (!stated && !r.rank) r.rank = scales ? std::optional(static_cast<std::int64_t>(scales->size())) : std::nullopt;
  if (!stated && !r.rank) r.rank = length_of_axis_list(step, r.scales != ValueId::none ? r.scales : r.sizes);
  if (stated) {
    r.axes_known = r.rank || std::all_of(stated->begin(), stated->end(), [](std::int64_t axis) { return axis >= 0; });
    for (std::size_t i = 0; r.axes_known && i < stated->size(); ++i)
      r.axes.push_back({.axis = (*stated)[i] < 0 ? (*stated)[i] + *r.rank : (*stated)[i]});
    return;
  }
  r.axes_known = r.rank.has_value();
  for (std::int64_t axis = 0; axis < r.rank.value_or(0); ++axis) r.axes.push_back({.axis = axis});
}

void learn_regions(Step& step, Resampling& r) {
  const auto roi = r.roi == ValueId::none ? std::nullopt : step.constant_reals(r.roi);
  if (!roi || roi->size() != 2 * r.axes.size()) return;
  for (std::size_t i = 0; i < r.axes.size(); ++i) r.axes[i].region = std::pair((*roi)[i], (*roi)[i + r.axes.size()]);
}

void learn_from_scales(ResampledAxis& axis, double scale, bool crops) {
  axis.scale = scale;
  axis.stays = scale == 1 && (!crops || axis.region == std::pair(0.0, 1.0));
  if (!axis.size || (crops && !axis.region)) return;
  const auto single = static_cast<float>(scale);
  const float part = crops ? static_cast<float>(axis.region->second - axis.region->first) * single : single;
  axis.new_size = scaled_size(*axis.size, part);
}

void learn_from_sizes(Step& step, Resampling& r) {
  const auto constants = step.constant_integers(r.sizes);
  const checker::Shape* result = step.shape(step.output(0));
  const auto shapes = step.comparable_shapes({r.x, step.output(0)});
  const bool crops = r.rules.crops(), keeps = r.keeps_ratio();
  std::optional<double> common;
  bool all = true;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    ResampledAxis& axis = r.axes[i];
    const auto at = static_cast<std::size_t>(axis.axis);
    if (constants && i < constants->size())
      axis.new_size = (*constants)[i];
    else if (!keeps && result && at < result->size() && (*result)[at].is_constant())
      axis.new_size = (*result)[at].constant();
    const bool same_symbol =
        shapes && at < shapes->at(0).size() && at < shapes->at(1).size() && shapes->at(0)[at] == shapes->at(1)[at];
    const bool equal = axis.size && axis.new_size ? axis.size == axis.new_size : !keeps && same_symbol;
    axis.stays = equal && !keeps && (!crops || axis.region == std::pair(0.0, 1.0));
    all = all && axis.size && axis.new_size && *axis.size > 0;
    if (!axis.size || !axis.new_size || *axis.size <= 0) continue;
    axis.scale = static_cast<double>(*axis.new_size) / static_cast<double>(*axis.size);
    if (!common) common = axis.scale;
    common = r.policy == "not_larger" ? std::min(*common, *axis.scale) : std::max(*common, *axis.scale);
  }
  for (ResampledAxis& axis : r.axes) {
    if (!keeps) break;
    axis.new_size.reset();
    axis.scale = all ? common : std::nullopt;
    if (all) axis.new_size = static_cast<std::int64_t>(std::floor(*common * static_cast<double>(*axis.size) + 0.5));
    axis.stays = all && *common == 1 && (!crops || axis.region == std::pair(0.0, 1.0));
  }
}

}  // namespace

std::optional<SampledAxis> ResampledAxis::sampled() const {
  if (!size || !new_size || !scale) return std::nullopt;
  SampledAxis sampled = {.size = *size, .new_size = *new_size, .scale = *scale};
  if (region) std::tie(sampled.begin, sampled.end) = *region;
  return sampled;
}

SamplingRules version_10_rules(Mode mode) {
  SamplingRules rules;
  rules.mode = mode;
  return rules;
}

Resampling read_resampling(Step& step) {
  Resampling r;
  r.rules = rules_of(step);
  r.x = step.input(0);
  const bool has_sizes = step.before().name == "Resize" && step.before().since_version >= 11;
  if (has_sizes) {
    read_scales_or_sizes(step, r);
    if (r.rules.crops()) r.roi = step.input(1);
    r.policy = step.string("keep_aspect_ratio_policy", "stretch");
  } else {
    r.scales = step.input(1);
  }
  const auto scales = given_scales(step, r);
  find_axes(step, r, scales);
  if (const checker::Shape* shape = step.shape(r.x)) {
    for (ResampledAxis& axis : r.axes) {
      const auto at = static_cast<std::size_t>(axis.axis);
      if (at >= shape->size()) refuse("an axis is outside the rank of the input");
      if ((*shape)[at].is_constant()) axis.size = (*shape)[at].constant();
    }
  }
  learn_regions(step, r);
  if (r.sizes != ValueId::none) {
    learn_from_sizes(step, r);
  } else if (scales) {
    if (r.axes_known && scales->size() != r.axes.size()) refuse("the number of scales differs from the number of axes");
    for (std::size_t i = 0; i < r.axes.size(); ++i) learn_from_scales(r.axes[i], (*scales)[i], r.rules.crops());
  }
  return r;
}

void refuse_two_readings(const Step& step, const Resampling& r) {
  if (step.follows_scaled_length() || r.rules.coordinates != "align_corners" || r.scales == ValueId::none) return;
  const auto is_whole = [](const ResampledAxis& axis) {
    if (axis.stays) return true;
    if (!axis.scale) return false;
    const auto scale = static_cast<float>(*axis.scale);
    return std::floor(scale) == scale ||
           (axis.size && axis.new_size && static_cast<float>(*axis.size) * scale == static_cast<float>(*axis.new_size));
  };
  if (r.axes_known && std::all_of(r.axes.begin(), r.axes.end(), is_whole)) return;
  refuse(
      "align_corners with a scale that does not give a whole length has two readings: positions follow the scaled "
      "length (the official cases) or the size of the result (ONNX Runtime); --align-corners says which");
}

double weight_tolerance(const Step& step, ValueId x) { return step.elem(x) == ElementType::float64 ? 1e-15 : 1e-7; }

}  // namespace onnxkit::opset
