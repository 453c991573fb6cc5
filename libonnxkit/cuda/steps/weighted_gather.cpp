#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// The operand along the axes of the output: what depends on the axis that goes is added apart.
View along_output(View view, const View& output, std::size_t gone) {
  view.strides[gone] = 0;
  view.dims = output.dims;
  return view;
}

Result<std::vector<Launch>> write_weighted_gather(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View &data = step.inputs[0], &positions = step.inputs[1], &weights = step.inputs[2], &to = step.outputs[0];
  const View from = along_output(data, to, 1), places = along_output(positions, to, 2),
             factors = along_output(weights, to, 2);
  const View* views[] = {&to, &from, &places, &factors};
  const ElementLoop loop(views);
  const std::int64_t taps = positions.dims[2];
  if (auto ends = check_work(to.size(), taps, "rows"); !ends) return ends.error();
  const plan::Lane lane = plan::lane_of(to.type) == plan::Lane::f64 ? plan::Lane::f64 : sum_lane(data.type);
  const bool takes_greatest = static_cast<const plan::WeightedGatherParameters&>(*step.parameters).takes_greatest;
  const std::string number =
      loaded(data.type, lane, fmt::format("x0[{} + position * {}]", loop.place(1), data.strides[1]));
  const std::string weight =
      loaded(weights.type, lane, fmt::format("x2[{} + t * {}]", loop.place(3), weights.strides[2]));
  const std::string combined =
      takes_greatest ? "sum = is_first || sum < term || term != term ? term : sum;\n      is_first = false;"
                     : "sum += term;";
  Launch launch;
  launch.text = fmt::format(
      "{0} {{\n  using Number = {1};\n{2}    Number sum = 0;\n    [[maybe_unused]] bool is_first = true;\n"
      "    for (long long t = 0; t < {3}; ++t) {{\n      const long long position = x1[{4} + t * {5}];\n"
      "      if (position < 0) continue;\n      if (position >= {6}) {{\n        *fault = 1;\n        continue;\n      "
      "}}\n"
      "      const Number term = {7} * {8};\n      {9}\n    }}\n    y[{10}] = {11};\n{12}}}\n",
      write_parameters(step, preparation, true), lane_type(lane), loop.begin(), taps, loop.place(2),
      positions.strides[2], data.dims[1], weight, number, combined, loop.place(0), stored(to.type, lane, "sum"),
      loop.end());
  launch.fault = "a position to gather from is outside the data";
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_weighted_gather(StepRegistry& registry);
void register_weighted_gather(StepRegistry& registry) {
  registry.add(plan::weighted_gather_step, write_weighted_gather);
}

}  // namespace onnxkit::cuda
