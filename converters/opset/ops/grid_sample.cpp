#include "converters/opset/steps.h"

namespace onnxkit::opset {
namespace {

void new_names(Step& step) {
  const std::string mode = step.string("mode");
  step.set({"mode", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode});
}

void old_names(Step& step) {
  const auto rank = step.rank(step.input(0)), of_grid = step.rank(step.input(1));
  if (!rank && !of_grid) refuse_unknown("the number of image axes is not known, and version 16 takes two");
  if (rank.value_or(4) != 4 || of_grid.value_or(4) != 4) refuse("version 16 takes images of two axes only");
  const std::string mode = step.string("mode");
  step.set({"mode", mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode});
}

}  // namespace

void register_grid_sample(StepRegistry& registry) {
  registry.introduced({"GridSample"}, 16, never("no older operator samples at computed places"));
  registry.change({"GridSample"}, 20, adapt("modes have new names", new_names),
                  adapt("modes have old names", old_names));
  registry.types({"GridSample"}, {22});
}

}  // namespace onnxkit::opset
