// Upsample and Resize. docs/upsample-history.md tells what each version means, and what is done between two of them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "converters/opset/compose/resampling.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using Mode = SamplingRules::Mode;
using Rounding = SamplingRules::Rounding;

ValueId empty_reals(Step& step, std::string_view hint) { return step.vector(std::vector<float>(), hint); }

bool all_axes(const Resampling& r, const std::function<bool(const ResampledAxis&)>& holds) {
  return r.axes_known && std::all_of(r.axes.begin(), r.axes.end(), holds);
}

bool same_table(const Step& step, const Resampling& r, const ResampledAxis& axis, const SamplingRules& rules,
                const SampledAxis& other) {
  const auto sampled = axis.sampled();
  if (!sampled || (r.rules.crops() && !axis.region) || sampled->new_size != other.new_size) return false;
  const auto now = tap_table(*sampled, r.rules), then = tap_table(other, rules);
  return now && then && same_samples(*now, *then, weight_tolerance(step, r.x));
}

// ---- Upsample

void scales_from_height_and_width(Step& step) {
  step.set({"scales", std::vector<float>{1, 1, step.real("height_scale", 1), step.real("width_scale", 1)}});
  step.remove("height_scale");
  step.remove("width_scale");
  if (step.has("mode") && step.string("mode") == "bilinear") step.set({"mode", "linear"});
}

/// A type of Upsample 1 that holds the numbers of the type.
ElementType type_for_version_1(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::int16:
    case ElementType::uint16:
      return ElementType::int32;
    case ElementType::uint32:
      return ElementType::int64;
    case ElementType::uint64:
    case ElementType::string:
    case ElementType::complex64:
    case ElementType::complex128:
      return ElementType::undefined;
    default:
      return type;
  }
}

/// The axes that grow come last; there are four.
void as_image(Step& step, const std::vector<std::int64_t>& perm, ElementType from, ElementType type) {
  const auto rank = static_cast<std::int64_t>(perm.size());
  std::vector<std::int64_t> back(perm.size()), ahead;
  for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  for (std::int64_t i = rank; i < 4; ++i) ahead.push_back(i - rank);
  const bool moves = !std::is_sorted(perm.begin(), perm.end());
  ValueId x = step.input(0);
  if (type != from) x = step.add("Cast", {x}, {{"to", static_cast<std::int64_t>(type)}});
  if (moves) x = step.add("Transpose", {x}, {{"perm", perm}}, "moved");
  if (!ahead.empty()) x = step.add("Unsqueeze", {x}, {{"axes", ahead}}, "image");
  step.set_input(0, x);
  std::vector<std::function<void(ValueId, ValueId)>> after;
  if (!ahead.empty())
    after.emplace_back([&](ValueId y, ValueId to) { step.emit("Squeeze", {y}, {to}, {{"axes", ahead}}); });
  if (moves) after.emplace_back([&](ValueId y, ValueId to) { step.emit("Transpose", {y}, {to}, {{"perm", back}}); });
  if (type != from)
    after.emplace_back([&](ValueId y, ValueId to) {
      step.emit("Cast", {y}, {to}, {{"to", static_cast<std::int64_t>(from)}});
    });
  if (after.empty()) return;
  ValueId y = step.value("upsampled");
  step.set_output(0, y);
  step.then();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const ValueId to = i + 1 == after.size() ? step.output(0) : step.value("upsampled");
    after[i](y, to);
    y = to;
  }
}

void height_and_width_from_scales(Step& step) {
  const Resampling r = read_resampling(step);
  const std::vector<float> scales = step.reals("scales").value_or(std::vector<float>());
  const ElementType from = step.elem(r.x), type = type_for_version_1(from);
  const bool fits_type = from == ElementType::undefined || type == from ||
                         (type != ElementType::undefined && r.rules.mode == Mode::nearest);
  std::vector<std::int64_t> perm, growing;
  for (std::size_t i = 0; i < scales.size(); ++i)
    (scales[i] == 1 ? perm : growing).push_back(static_cast<std::int64_t>(i));
  // What need not move does not: axes that stay may be last, too.
  if (scales.size() == 4 && scales[0] == 1 && scales[1] == 1) {
    perm = {0, 1};
    growing = {2, 3};
  }
  if (scales.size() > 4 || growing.size() > 2 || !fits_type) {
    write_with_gather(step, r);
    step.note("Upsample 1 lacks these scales or this type: rewritten using Gather");
    return;
  }
  perm.insert(perm.end(), growing.begin(), growing.end());
  std::vector<float> image(4 - scales.size(), 1);
  for (const std::int64_t axis : perm) image.push_back(scales[static_cast<std::size_t>(axis)]);
  step.set({"height_scale", image[2]});
  step.set({"width_scale", image[3]});
  step.remove("scales");
  if (r.rules.mode == Mode::linear) step.set({"mode", "bilinear"});
  as_image(step, perm, from, type);
}

void scales_become_input(Step& step) {
  step.set_input(1, step.vector(step.reals("scales").value_or(std::vector<float>()), "scales"));
  step.remove("scales");
}

void scales_become_attribute(Step& step) {
  const auto scales = step.constant_reals(step.input(1));
  if (!scales) refuse("the scales are computed at run time, but Upsample 7 requires constants");
  step.set({"scales", std::vector<float>(scales->begin(), scales->end())});
  step.drop_inputs(1);
}

void resize_to_upsample(Step& step) {
  const auto scales = step.constant_reals(step.input(1));
  if (scales && std::all_of(scales->begin(), scales->end(), [](double scale) { return scale >= 1; }))
    return step.set_op("Upsample");
  write_with_gather(step, read_resampling(step));
  step.note("Upsample does not shrink: rewritten using Gather");
}

// ---- 10 and 11

/// The scales below 1, and the others, with 1 for the rest.
std::pair<ValueId, ValueId> by_direction(Step& step, ValueId scales) {
  if (const auto known = step.constant_reals(scales)) {
    std::vector<float> down, up;
    for (const double scale : *known) {
      down.push_back(static_cast<float>(std::min(scale, 1.0)));
      up.push_back(static_cast<float>(std::max(scale, 1.0)));
    }
    return {step.vector(down, "shrinking"), step.vector(up, "growing")};
  }
  const ValueId one = step.vector(std::vector<float>{1}, "one");
  return {step.add("Min", {scales, one}, {}, "shrinking"), step.add("Max", {scales, one}, {}, "growing")};
}

/// What version 10 does with each axis, in the words of version 11.
void choose_rounding(Step& step, const Resampling& r) {
  const auto as_version_10 = [&](Rounding rounding) {
    SamplingRules rules = r.rules;
    rules.rounding = rounding;
    return all_axes(r, [&](const ResampledAxis& axis) {
      if (axis.stays || (axis.scale && nearest_as_version_10(*axis.scale, rules))) return true;
      const auto sampled = axis.sampled();
      return sampled && same_table(step, r, axis, rules, *sampled);
    });
  };
  if (as_version_10(Rounding::floor)) return step.set({"nearest_mode", "floor"});
  if (as_version_10(Rounding::ceil)) return step.set({"nearest_mode", "ceil"});
  // Axes do not depend on each other: first those that shrink, then those that grow.
  const auto [shrinking, growing] = by_direction(step, r.scales);
  const ValueId shrunk = step.value("shrunk");
  ir::Node& first = step.emit("Resize", {r.x, empty_reals(step, "roi"), shrinking}, {shrunk},
                              {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "ceil"}});
  if (const ir::Attribute* mode = step.node().find_attribute("mode")) first.attributes.push_back(clone(*mode));
  step.set_input(0, shrunk);
  step.set_input(2, growing);
  step.set({"nearest_mode", "floor"});
  step.note("asymmetric; two nodes, because axes that shrink round up and axes that grow round down");
}

void to_version_11(Step& step) {
  step.set({"coordinate_transformation_mode", "asymmetric"});
  step.set_input(1, empty_reals(step, "roi"));
  step.set_input(2, step.input(1));
  if (step.is_reference("mode")) {
    Resampling unknown;
    unknown.x = step.input(0);
    unknown.scales = step.input(1);
    return choose_rounding(step, unknown);
  }
  const std::string mode = step.string("mode");
  if (mode == "nearest") return choose_rounding(step, read_resampling(step));
  if (mode != "linear") step.set({"mode", "linear"});
}

/// A scale with which version 10 makes of the axis what the node does.
std::optional<float> scale_for_version_10(const Step& step, const Resampling& r, const ResampledAxis& axis, Mode mode) {
  if (axis.stays) return 1.0F;
  const bool by_scales = r.scales != ValueId::none;
  if (by_scales && axis.scale && mode == Mode::nearest && r.rules.mode == mode &&
      nearest_as_version_10(*axis.scale, r.rules))
    return static_cast<float>(*axis.scale);
  const auto sampled = axis.sampled();
  if (!sampled) return std::nullopt;
  const float near = static_cast<float>(*axis.scale);
  std::optional<float> only_in_single;
  for (const float scale : {near, std::nextafter(near, 2 * near), std::nextafter(near, 0.0F)}) {
    if (scaled_size(sampled->size, scale) != sampled->new_size) continue;
    const SampledAxis other = {.size = sampled->size, .new_size = sampled->new_size, .scale = scale};
    if (!same_table(step, r, axis, version_10_rules(mode), other)) continue;
    // Runtimes multiply in single or in double precision, in which 5 * 1.4F is below 7: better a scale that does for both.
    const double in_double = std::floor(static_cast<double>(sampled->size) * static_cast<double>(scale));
    if (in_double == static_cast<double>(sampled->new_size)) return scale;
    if (!only_in_single) only_in_single = scale;
  }
  return only_in_single;
}

std::optional<std::vector<float>> scales_for_version_10(const Step& step, const Resampling& r, Mode mode) {
  std::vector<float> scales;
  for (const ResampledAxis& axis : r.axes) {
    const auto scale = scale_for_version_10(step, r, axis, mode);
    if (!scale) return std::nullopt;
    scales.push_back(*scale);
  }
  return r.axes_known ? std::optional(scales) : std::nullopt;
}

void write_version_10(Step& step, const Resampling& r, ValueId scales, Mode mode) {
  const std::string name = mode == Mode::nearest ? "nearest" : "linear";
  if (step.string("mode") != name) step.set({"mode", name});
  for (const auto attribute :
       {"coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "nearest_mode"})
    step.remove(attribute);
  step.drop_inputs(1);
  step.set_input(0, r.x);
  step.set_input(1, scales);
}

void to_version_10_resize(Step& step) {
  const Resampling r = read_resampling(step);
  refuse_two_readings(step, r);
  // What exclude_outside leaves out in mode linear is a repeated end, which adds up to the same.
  if (r.rules.mode == Mode::linear && r.rules.coordinates == "asymmetric" && r.scales != ValueId::none)
    return write_version_10(step, r, r.scales, Mode::linear);
  const std::vector<Mode> modes =
      r.rules.mode == Mode::nearest ? std::vector{Mode::nearest} : std::vector{Mode::linear, Mode::nearest};
  for (const Mode mode : modes) {
    const auto scales = scales_for_version_10(step, r, mode);
    if (!scales) continue;
    const auto given = r.scales == ValueId::none ? std::nullopt : step.constant_reals(r.scales);
    const bool same = given && std::equal(given->begin(), given->end(), scales->begin(), scales->end());
    return write_version_10(step, r, same ? r.scales : step.vector(*scales, "scales"), mode);
  }
  write_with_gather(step, r);
  step.note("Resize 10 samples other positions: rewritten using Gather");
}

// ---- 11 and 13

bool is_surely_empty(const Step& step, ValueId value) {
  const checker::Shape* shape = step.shape(value);
  return shape && shape->size() == 1 && shape->front().is(0);
}

void to_version_13(Step& step) {
  // From version 13 on only one of scales and sizes is there.
  if (step.has_input(3)) {
    if (is_surely_empty(step, step.input(2)))
      step.set_input(2, ValueId::none);
    else if (is_surely_empty(step, step.input(3)))
      step.drop_inputs(3);
  }
  if (step.is_reference("coordinate_transformation_mode") ||
      step.string("coordinate_transformation_mode") != "tf_half_pixel_for_nn")
    return;
  // (i + 0.5) / scale, rounded down, is the center of half_pixel rounded to nearest.
  const std::string rounding = step.string("nearest_mode");
  const bool down = rounding == "floor";
  if (step.string("mode") == "nearest" && (down || rounding == "round_prefer_floor")) {
    step.set({"coordinate_transformation_mode", "half_pixel"});
    step.set({"nearest_mode", down ? "round_prefer_ceil" : "ceil"});
    step.note("tf_half_pixel_for_nn was removed: half_pixel with another rounding selects the same elements");
    return;
  }
  write_with_gather(step, read_resampling(step));
  step.note("tf_half_pixel_for_nn was removed: rewritten using Gather");
}

void to_version_11_from_13(Step& step) {
  if (!step.has_input(1)) step.set_input(1, empty_reals(step, "roi"));
  if (!step.has_input(2)) step.set_input(2, empty_reals(step, "scales"));
}

// ---- 18

/// Entries for some axes become entries for all: `rest`, with those of the node put in place.
ValueId for_all_axes(Step& step, const Resampling& r, const std::vector<std::int64_t>& axes, ValueId entries,
                     ValueId rest) {
  const Attr axis = {"axis", std::int64_t{0}};
  if (!r.rank || !r.axes_known)
    return step.add("ScatterElements", {rest, step.vector(axes, "axes"), entries}, {axis}, "all_axes");
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < *r.rank; ++i) from.push_back(i);
  for (std::size_t i = 0; i < r.axes.size(); ++i)
    from[static_cast<std::size_t>(r.axes[i].axis)] = *r.rank + static_cast<std::int64_t>(i);
  const ValueId both = step.add("Concat", {rest, entries}, {axis});
  return step.add("Gather", {both, step.vector(from)}, {axis}, "all_axes");
}

ValueId filled(Step& step, const Resampling& r, ElementType type, double value) {
  if (r.rank) return step.numbers(type, {*r.rank}, std::vector<double>(static_cast<std::size_t>(*r.rank), value));
  const ValueId rank = step.add("Shape", {step.add("Shape", {step.input(0)})});
  return step.add("Expand", {step.numbers(type, {1}, {value}), rank});
}

ValueId regions_for_all_axes(Step& step, const Resampling& r, const std::vector<std::int64_t>& axes) {
  const ElementType type = step.need_elem(step.input(1));
  if (r.rank && all_axes(r, [](const ResampledAxis& axis) { return axis.region.has_value(); })) {
    const auto rank = static_cast<std::size_t>(*r.rank);
    std::vector<double> regions(2 * rank, 0);
    std::fill(regions.begin() + *r.rank, regions.end(), 1);
    for (const ResampledAxis& axis : r.axes) {
      const auto at = static_cast<std::size_t>(axis.axis);
      std::tie(regions[at], regions[at + rank]) = *axis.region;
    }
    return step.numbers(type, {2 * *r.rank}, regions, "roi");
  }
  const auto count = static_cast<std::int64_t>(axes.size());
  const auto part = [&](std::int64_t from, std::int64_t to, double rest) {
    const ValueId entries = step.add("Slice", {step.input(1), step.vector(std::vector<std::int64_t>{from}),
                                               step.vector(std::vector<std::int64_t>{to})});
    return for_all_axes(step, r, axes, entries, filled(step, r, type, rest));
  };
  const ValueId begins = part(0, count, 0), ends = part(count, 2 * count, 1);
  return step.add("Concat", {begins, ends}, {{"axis", std::int64_t{0}}}, "roi");
}

bool is_all_axes(const Resampling& r, const std::vector<std::int64_t>& axes) {
  if (!r.rank || static_cast<std::int64_t>(axes.size()) != *r.rank) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i) && axes[i] != static_cast<std::int64_t>(i) - *r.rank) return false;
  }
  return true;
}

std::vector<float> scales_of_all(const Resampling& r, const std::vector<double>& scales) {
  std::vector<float> all(static_cast<std::size_t>(*r.rank), 1);
  for (std::size_t i = 0; i < r.axes.size(); ++i)
    all[static_cast<std::size_t>(r.axes[i].axis)] = static_cast<float>(scales[i]);
  return all;
}

ValueId sizes_for_all_axes(Step& step, const Resampling& r, const std::vector<std::int64_t>& axes) {
  auto sizes = step.sizes(r.x);
  if (!sizes || !all_axes(r, [](const ResampledAxis& axis) { return axis.new_size.has_value(); }))
    return for_all_axes(step, r, axes, r.sizes, step.add("Shape", {r.x}));
  for (const ResampledAxis& axis : r.axes) (*sizes)[static_cast<std::size_t>(axis.axis)] = *axis.new_size;
  return step.vector(*sizes, "sizes");
}

void write_all_axes(Step& step, const Resampling& r) {
  const auto axes = step.integers("axes");
  if (!axes) return;
  step.remove("axes");
  if (is_all_axes(r, *axes)) return;
  if (r.roi != ValueId::none) step.set_input(1, regions_for_all_axes(step, r, *axes));
  if (r.sizes != ValueId::none) {
    step.set_input(3, sizes_for_all_axes(step, r, *axes));
    return;
  }
  const auto scales = step.constant_reals(r.scales);
  if (scales && r.rank && r.axes_known && scales->size() == r.axes.size())
    step.set_input(2, step.vector(scales_of_all(r, *scales), "scales"));
  else
    step.set_input(2, for_all_axes(step, r, *axes, r.scales, filled(step, r, ElementType::float32, 1)));
}

/// Scales, or sizes, that do what the policy makes of sizes.
bool write_without_policy(Step& step, const Resampling& r) {
  if (!r.rank || !all_axes(r, [](const ResampledAxis& axis) { return axis.sampled().has_value(); })) return false;
  const auto same_with = [&](const std::function<std::optional<double>(const ResampledAxis&)>& scale_of) {
    return all_axes(r, [&](const ResampledAxis& axis) {
      SampledAxis other = *axis.sampled();
      const auto scale = scale_of(axis);
      if (!scale) return false;
      other.scale = *scale;
      return same_table(step, r, axis, r.rules, other);
    });
  };
  const auto common = static_cast<float>(*r.axes.front().scale);
  const bool by_scales = !r.rules.crops() && same_with([&](const ResampledAxis& axis) {
    return scaled_size(*axis.size, common) == axis.new_size ? std::optional<double>(common) : std::nullopt;
  });
  const bool by_sizes = !by_scales && same_with([&](const ResampledAxis& axis) {
    return std::optional(static_cast<double>(*axis.new_size) / static_cast<double>(*axis.size));
  });
  if (!by_scales && !by_sizes) return false;
  if (by_scales) {
    step.set_input(2, step.vector(scales_of_all(r, std::vector<double>(r.axes.size(), common)), "scales"));
    step.drop_inputs(3);
  } else {
    std::vector<std::int64_t> sizes;
    const auto given = step.sizes(r.x);
    if (!given) return false;
    sizes = *given;
    for (const ResampledAxis& axis : r.axes) sizes[static_cast<std::size_t>(axis.axis)] = *axis.new_size;
    step.set_input(3, step.vector(sizes, "sizes"));
  }
  if (r.roi != ValueId::none && step.integers("axes"))
    step.set_input(1, regions_for_all_axes(step, r, *step.integers("axes")));
  step.remove("axes");
  return true;
}

void to_version_13_from_18(Step& step) {
  const Resampling r = read_resampling(step);
  const bool antialias_matters = r.rules.antialias && !all_axes(r, [](const ResampledAxis& axis) {
                                   return axis.stays || (axis.scale && *axis.scale >= 1);
                                 });
  if (antialias_matters) {
    write_with_gather(step, r);
    step.note("antialias does not exist: rewritten using Gather and weights");
    return;
  }
  const bool policy_matters = r.keeps_ratio();
  if (policy_matters && !write_without_policy(step, r)) {
    write_with_gather(step, r);
    step.note("keep_aspect_ratio_policy does not exist: rewritten using Gather");
    return;
  }
  step.remove("antialias");
  step.remove("keep_aspect_ratio_policy");
  if (!policy_matters) write_all_axes(step, r);
}

// ---- 19

void without_half_pixel_symmetric(Step& step) {
  if (step.string("coordinate_transformation_mode") != "half_pixel_symmetric") return;
  const Resampling r = read_resampling(step);
  SamplingRules rules = r.rules;
  rules.coordinates = "half_pixel";
  const bool same = all_axes(r, [&](const ResampledAxis& axis) {
    if (axis.stays || (r.scales != ValueId::none && axis.scale && *axis.scale == std::floor(*axis.scale))) return true;
    const auto sampled = axis.sampled();
    return sampled && same_table(step, r, axis, rules, *sampled);
  });
  // With sizes there is no part of a position to be made up for.
  if (same || (r.sizes != ValueId::none && !r.keeps_ratio()))
    return step.set({"coordinate_transformation_mode", "half_pixel"});
  write_with_gather(step, r);
  step.note("half_pixel_symmetric does not exist: rewritten using Gather");
}

}  // namespace

void register_resize(StepRegistry& registry) {
  registry.change({"Upsample"}, 7, adapt("height_scale and width_scale become scales", scales_from_height_and_width),
                  adapt("scales become height_scale and width_scale", height_and_width_from_scales));
  registry.change({"Upsample"}, 9, adapt("scales become an input", scales_become_input),
                  adapt("scales become an attribute", scales_become_attribute));
  registry.deprecated({"Upsample"}, 10, adapt("Resize 10 does the same", [](Step& step) { step.set_op("Resize"); }));
  registry.introduced({"Resize"}, 10, adapt("Upsample does the same where nothing shrinks", resize_to_upsample));
  registry.change({"Resize"}, 11, adapt("asymmetric, with the rounding of version 10", to_version_11),
                  adapt("version 10 samples the same elements", to_version_10_resize));
  registry.change({"Resize"}, 13, adapt("scales or sizes, and no tf_half_pixel_for_nn", to_version_13),
                  adapt("missing inputs are empty", to_version_11_from_13));
  registry.change({"Resize"}, 18, compatible("antialias, axes and policies are allowed"),
                  adapt("applies to all axes, without policy", to_version_13_from_18));
  registry.change({"Resize"}, 19, compatible("half_pixel_symmetric is allowed"),
                  adapt("half_pixel_symmetric has no equivalent among the older modes", without_half_pixel_symmetric));
}

}  // namespace onnxkit::opset
