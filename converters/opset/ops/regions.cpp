#include <algorithm>
#include <optional>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/interpolation.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

void state_no_shift(Step& step) { step.set({"coordinate_transformation_mode", std::string("output_half_pixel")}); }

// ---- RoiAlign in steps

constexpr ElementType real_regions = ElementType::float64;

/// Where the samples of all bins lie along one axis, [regions, bins * ratio], and whether they lie in the map at all.
struct Samples {
  ValueId at = ValueId::none, counts = ValueId::none;
};

/// `ends`: all coordinates in elements; `first` is the column of the region's begin, that of its end is two on.
Samples samples(Step& step, ValueId ends, std::int64_t first, ValueId size, std::int64_t bins, bool shifted) {
  const std::int64_t ratio = step.integer("sampling_ratio");
  const auto column = [&](std::int64_t number) { return slice(step, ends, 1, number, number + 1, "coordinate"); };
  const ValueId start = column(first), one = step.number(real_regions, 1, "one"),
                zero = step.number(real_regions, 0, "zero");
  ValueId length = step.add("Sub", {column(first + 2), start}, {}, "length");
  if (!shifted) length = step.add("Max", {length, one}, {}, "length");
  std::vector<double> offsets;
  for (std::int64_t i = 0; i < bins * ratio; ++i) {
    const double in_bin = (static_cast<double>(i % ratio) + 0.5) / static_cast<double>(ratio);
    offsets.push_back(static_cast<double>(i / ratio) + in_bin);
  }
  const ValueId bin =
      step.add("Div", {length, step.number(real_regions, static_cast<double>(bins), "cells")}, {}, "cell");
  const ValueId steps = step.add("Mul", {bin, step.numbers(real_regions, {1, bins * ratio}, offsets, "offsets")});
  const ValueId at = step.add("Add", {start, steps}, {}, "at");
  const ValueId above = step.add("Not", {step.add("Less", {at, step.number(real_regions, -1)})});
  const ValueId below = step.add("Not", {step.add("Greater", {at, size})});
  const ValueId last = step.add("Sub", {size, one}, {}, "last");
  return {step.add("Max", {step.add("Min", {at, last}), zero}, {}, "clamped"),
          step.add("And", {above, below}, {}, "counts")};
}

/// Rows and columns of samples as one list of positions.
ValueId crossed(Step& step, ValueId x, std::int64_t other_axis, const List& sizes) {
  const ValueId row = unsqueeze(step, x, {other_axis});
  const ValueId all = step.add("Expand", {row, step.vector(sizes, "sizes")}, {}, "all");
  return step.add("Flatten", {all}, {{"axis", std::int64_t{1}}}, "places");
}

void align_in_steps(Step& step, bool shifted) {
  const std::int64_t ratio = step.integer("sampling_ratio"), height = step.integer("output_height", 1),
                     width = step.integer("output_width", 1);
  if (ratio == 0) refuse("the number of samples depends on the size of each region");
  if (ratio < 0 || height < 1 || width < 1 || std::max({ratio, height, width}) > 1 << 10)
    refuse("an attribute is out of range");
  const ElementType type = step.need_elem(step.input(0));
  const std::string mode = step.string("mode", "avg");
  const ValueId scale = step.number(real_regions, double{step.real("spatial_scale", 1)}, "scale");
  ValueId ends = step.add("Mul", {cast(step, step.input(1), real_regions, "regions"), scale}, {}, "scaled");
  if (shifted) ends = step.add("Sub", {ends, step.number(real_regions, 0.5, "half")}, {}, "shifted");
  const ValueId shape = step.add("Shape", {step.input(0)});
  const std::vector<ValueId> lengths = image_lengths(step, shape, 2, step.shape(step.input(0)));
  const Samples rows = samples(step, ends, 1, lengths[0], height, shifted);
  const Samples columns = samples(step, ends, 0, lengths[1], width, shifted);
  const List sizes = {1, height * ratio, width * ratio};
  const std::vector<ValueId> positions = {crossed(step, rows.at, 2, sizes), crossed(step, columns.at, 1, sizes)};
  const ValueId counts = step.add("And", {unsqueeze(step, rows.counts, {2}), unsqueeze(step, columns.counts, {1})});
  const ValueId images = reshape(step, cast(step, step.input(2), real_regions, "images"), {-1, 1, 1, 1}, "images");
  InterpolationRules rules;
  rules.outside = Outside::border;
  rules.greatest = mode == "max";
  const ValueId map = cast(step, step.input(0), real_regions, "map");
  const ValueId seen = interpolate(step, map, real_regions, images, lengths, positions, rules);
  const ValueId counted = reshape(step, counts, {-1, sizes[1] * sizes[2], 1}, "counted");
  const ValueId inside = step.add("Where", {counted, seen, step.number(real_regions, 0, "nothing")}, {}, "samples");
  const ValueId channels = step.add("Transpose", {inside}, {{"perm", List{0, 2, 1}}}, "planes");
  const ValueId bins = reshape(step, channels, {0, 0, height, ratio, width, ratio}, "cells");
  const ValueId pooled = reduce(step, rules.greatest ? "ReduceMax" : "ReduceMean", bins, {3, 5}, false, "pooled");
  step.emit("Cast", {pooled}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  step.replace();
}

/// The regions, moved by half a pixel; nothing where that is not exact, or where version 10 would widen one.
std::optional<std::vector<double>> shifted_regions(Step& step, ElementType type) {
  const auto regions = step.constant_reals(step.input(1));
  if (!regions || (type != ElementType::float32 && type != ElementType::float64)) return std::nullopt;
  const auto scale = double{step.real("spatial_scale", 1)};
  std::vector<double> moved;
  for (const double given : *regions) {
    const double at = given - 0.5 / scale;
    moved.push_back(type == ElementType::float64 ? at : double{static_cast<float>(at)});
    if (moved.back() * scale != given * scale - 0.5) return std::nullopt;
  }
  for (std::size_t i = 0; i + 3 < moved.size(); i += 4) {
    if ((moved[i + 2] - moved[i]) * scale < 1 || (moved[i + 3] - moved[i + 1]) * scale < 1) return std::nullopt;
  }
  return moved;
}

void to_version_10_regions(Step& step) {
  const bool shifted = step.string("coordinate_transformation_mode") == "half_pixel";
  step.remove("coordinate_transformation_mode");
  if (!shifted) return;
  const ElementType type = step.need_elem(step.input(1));
  const auto moved = shifted_regions(step, type);
  if (!moved) {
    align_in_steps(step, true);
    return step.note("rewritten using Gather: version 10 makes regions at least one element large");
  }
  const auto count = static_cast<std::int64_t>(moved->size() / 4);
  step.set_input(1, step.numbers(type, {count, 4}, *moved, "regions"));
  step.note("the regions are shifted by half a pixel");
}

}  // namespace

void register_regions(StepRegistry& registry) {
  registry.types({"MaxRoiPool"}, {22});
  registry.introduced({"RoiAlign"}, 10, adapt("rewritten using Gather and weights", [](Step& step) {
                        align_in_steps(step, step.string("coordinate_transformation_mode") == "half_pixel");
                      }));
  registry.change({"RoiAlign"}, 16, adapt("no shift by half a pixel, as before", state_no_shift),
                  adapt("no shift by half a pixel", to_version_10_regions));
  registry.types({"RoiAlign"}, {22});
  registry.introduced({"NonMaxSuppression"}, 10,
                      never("no older operator drops overlapping boxes; only a loop over the boxes could"));
  const Way strict =
      compatible("boxes that overlap by exactly the threshold are kept, which version 10 does not define");
  registry.change({"NonMaxSuppression"}, 11, strict, strict);
}

}  // namespace onnxkit::opset
