#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

Result<std::vector<Launch>> write_gather(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View &data = step.inputs[0], &to = step.outputs[0];
  if (data.dims[1] == 0) return make_error("not-supported", "nothing to gather from");
  const std::int64_t lists = step.inputs[1].rank() == 2 ? step.inputs[1].dims[0] : 1;
  View positions = plan::broadcast_to(*plan::try_reshaped(step.inputs[1], {lists, to.dims[1], 1}), to.dims);
  // What of the place in `data` does not depend on the position.
  View others = data;
  others.dims = to.dims;
  others.strides[1] = 0;
  const View* views[] = {&to, &others, &positions};
  ElementLoop loop(views, true);
  const bool is_along_rows = loop.is_side_by_side(1) && !loop.is_side_by_side(2);
  if (data.strides[1] % loop.pack() != 0 || !is_along_rows) loop = ElementLoop(views);
  const plan::Lane lane = number_lane(step);
  const auto same = [&](const std::string& element) {
    return data.type == to.type ? element : stored(to.type, lane, loaded(data.type, lane, element));
  };
  std::string copy = fmt::format("y[{}] = {}", loop.place(0), same("x0[from]"));
  if (loop.pack() > 1) {
    copy = fmt::format(
        "const auto p = load_pack<{0}>(x0 + from);\n    Pack<{1}, {0}> q;\n#pragma unroll\n"
        "    for (int i = 0; i < {0}; ++i) q.at[i] = {2};\n    store_pack(y + {3}, q)",
        loop.pack(), stored_type(to.type), same("p.at[i]"), loop.place(0));
  }
  Launch launch;
  launch.text = fmt::format(
      "{0} {{\n{1}    long long position = x1[{2}];\n    if (position < 0) position += {3};\n"
      "    if (position < 0 || position >= {3}) {{\n      *fault = 1;\n      position = 0;\n    }}\n"
      "    const long long from = {4} + position * {5};\n    {6};\n{7}}}\n",
      write_parameters(step, preparation, true), loop.begin(), loop.place(2), data.dims[1], loop.place(1),
      data.strides[1], copy, loop.end());
  launch.fault = "a position to gather from is outside the axis";
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_gather(StepRegistry& registry);
void register_gather(StepRegistry& registry) { registry.add(plan::gather_step, write_gather); }

}  // namespace onnxkit::cuda
