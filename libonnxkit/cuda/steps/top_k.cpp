#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// A thread for each element counts those that come before it.
Result<std::vector<Launch>> write_top_k(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View& from = step.inputs[0];
  const std::int64_t n = from.dims.back(), k = step.outputs[0].dims.back();
  if (auto ends = check_work(from.size(), n, "comparisons"); !ends) return ends.error();
  const bool is_largest = static_cast<const plan::TopKParameters&>(*step.parameters).is_largest;
  const LinearLoop loop(from.size());
  const bool is_real = plan::lane_of(from.type) != Lane::i64;
  const std::string below = is_real ? "{0} < {1} || ({1} != {1} && {0} == {0})" : "{0} < {1}";
  const auto is_below = [&](std::string_view a, std::string_view b) { return fmt::format(fmt::runtime(below), a, b); };
  const auto comparable = [&](const char* number) {  // a lane of signed integers has not the order of uint64
    return is_real ? loaded(from.type, plan::lane_of(from.type), number) : number;
  };
  Launch launch;
  launch.text = fmt::format(
      "{0} {{\n{1}    const Count row = at / {2}u;\n    const Count place = at % {2}u;\n"
      "    const auto* const numbers = x0 + row * {2}u;\n    const auto number = {8};\n    Count before = "
      "0;\n"
      "    for (Count i = 0; i < {2}u && before < {6}u; ++i) {{\n      const auto other = {9};\n"
      "      const bool is_below = {3}, is_above = {4};\n"
      "      before += {5} || (!is_below && !is_above && i < place);\n    }}\n"
      "    if (before < {6}u) {{\n      y[row * {6}u + before] = numbers[place];\n      y1[row * {6}u + before] = "
      "place;\n    }}\n{7}}}\n",
      write_parameters(step, preparation), loop.begin(), n, is_below("other", "number"), is_below("number", "other"),
      is_largest ? "is_above" : "is_below", k, loop.end(), comparable("numbers[place]"), comparable("numbers[i]"));
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_top_k(StepRegistry& registry);
void register_top_k(StepRegistry& registry) { registry.add(plan::top_k_step, write_top_k); }

}  // namespace onnxkit::cuda
