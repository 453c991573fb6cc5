#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The axes of Unsqueeze count in the output, which has one more for each.
void count_unsqueezed_from_front(Step& step) {
  std::vector<std::int64_t> axes = step.integers("axes").value_or(std::vector<std::int64_t>());
  bool any = false;
  for (std::int64_t& axis : axes) {
    if (axis >= 0) continue;
    any = true;
    axis += step.need_rank(step.input(0)) + static_cast<std::int64_t>(axes.size());
  }
  if (any) step.set({"axes", axes});
}

/// An attribute axes without elements would stand for all axes of 1.
Way squeezed_axes_to_attribute() {
  const Way usual = input_to_attribute(1, "axes");
  return adapt(usual.why, [usual](Step& step) {
    const auto axes = step.has_input(1) ? step.constant_integers(step.input(1)) : std::nullopt;
    if (!axes || !axes->empty()) return usual.function(step);
    step.emit("Identity", {step.input(0)}, {step.output(0)});
    step.replace();
    step.note("no axes are removed");
  });
}

}  // namespace

void register_squeeze(StepRegistry& registry) {
  registry.change({"Squeeze"}, 11, compatible("axes may also be negative"), nonnegative_axes("axes"));
  registry.change({"Unsqueeze"}, 11, compatible("axes may also be negative"),
                  adapt("axes made non-negative", count_unsqueezed_from_front));
  registry.change({"Squeeze"}, 13, attribute_to_input("axes", 1), squeezed_axes_to_attribute());
  registry.change({"Unsqueeze"}, 13, attribute_to_input("axes", 1), input_to_attribute(1, "axes"));
  registry.types({"Squeeze", "Unsqueeze"}, {21, 23, 24, 25});
}

}  // namespace onnxkit::opset
