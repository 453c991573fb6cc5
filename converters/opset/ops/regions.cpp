#include "converters/opset/compose.h"
#include "converters/opset/steps.h"

namespace onnxkit::opset {
namespace {

void state_no_shift(Step& step) { step.set({"coordinate_transformation_mode", std::string("output_half_pixel")}); }

/// The shift by half a pixel goes into the regions: where that is exact, and none is so small that version 10 would widen it.
void shift_regions(Step& step) {
  const bool shifted = step.string("coordinate_transformation_mode") == "half_pixel";
  step.remove("coordinate_transformation_mode");
  if (!shifted) return;
  const auto regions = step.constant_reals(step.input(1));
  if (!regions)
    refuse("half_pixel: version 10 makes regions at least one cell large, and these are computed at run time");
  const ElementType type = step.need_elem(step.input(1));
  const double scale = double{step.real("spatial_scale", 1)};
  std::vector<double> moved;
  for (std::size_t i = 0; i + 3 < regions->size(); i += 4) {
    for (std::size_t k = i; k < i + 4; ++k) {
      const double at = (*regions)[k] - 0.5 / scale;
      moved.push_back(type == ElementType::float64 ? at : double{static_cast<float>(at)});
      if (type == ElementType::float16 || moved.back() * scale != (*regions)[k] * scale - 0.5)
        refuse("half_pixel: the shift by half a pixel is not exact in the coordinates of the regions");
    }
    const bool is_large =
        moved[i + 2] * scale - moved[i] * scale >= 1 && moved[i + 3] * scale - moved[i + 1] * scale >= 1;
    if (!is_large) refuse("half_pixel: version 10 makes regions at least one cell large, and some are smaller");
  }
  const auto count = static_cast<std::int64_t>(moved.size() / 4);
  step.set_input(1, step.numbers(type, {count, 4}, moved, "regions"));
  step.note("the regions are moved by half a pixel");
}

}  // namespace

void register_regions(StepRegistry& registry) {
  registry.types({"MaxRoiPool"}, {22});
  registry.introduced({"RoiAlign"}, 10, never("no older operator samples regions"));
  registry.change({"RoiAlign"}, 16, adapt("no shift by half a pixel, as before", state_no_shift),
                  adapt("the regions hold the shift by half a pixel", shift_regions));
  registry.types({"RoiAlign"}, {22});
  registry.introduced({"NonMaxSuppression"}, 10, never("no older operator drops boxes that overlap better ones"));
  const Way strict = compatible("boxes that overlap by the threshold itself stay, which version 10 leaves open");
  registry.change({"NonMaxSuppression"}, 11, strict, strict);
}

}  // namespace onnxkit::opset
