#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/axes.h"
#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

struct Combine {
  std::string_view type;  ///< of text/prelude.h
  std::string start;
};

Combine combine_of(plan::Reduction reduction, Lane lane) {
  const bool is_integer = lane == Lane::i64;
  switch (reduction) {
    case plan::Reduction::maximum:
      return {"Largest", is_integer ? literal(INT64_MIN) : literal(lane, -INFINITY)};
    case plan::Reduction::minimum:
      return {"Smallest", is_integer ? literal(INT64_MAX) : literal(lane, INFINITY)};
    case plan::Reduction::product:
      return {"Product", "1"};
    default:
      return {"Sum", "0"};
  }
}

bool adds(plan::Reduction reduction) {
  return reduction != plan::Reduction::maximum && reduction != plan::Reduction::minimum;
}

/// How the threads of a block are divided: `width` of them for each result.
struct Division {
  std::int64_t width = 1, results = 1;  ///< of a block
  bool side_by_side = false;  ///< those of one result are neighbours; otherwise neighbours have neighbouring results

  std::int64_t threads() const { return width * results; }
};

Division division_of(const Axes& kept, const Axes& gone) {
  Division division;
  const std::int64_t results = kept.count(), count = gone.count();
  constexpr std::int64_t of_each_thread = 4, many_results = 1 << 16, least_threads = 128, warp = 32;
  const std::int64_t kept_stride = std::abs(kept.inner_stride());
  division.side_by_side = results == 1 || kept_stride == 0 || std::abs(gone.inner_stride()) < kept_stride;
  const std::int64_t most_width = division.side_by_side    ? (results < 256 ? 1024 : 256)
                                  : results < many_results ? 16
                                                           : 1;
  division.width = power_of_two_from((count + of_each_thread - 1) / of_each_thread, most_width);
  division.results = division.side_by_side ? std::max<std::int64_t>(1, least_threads / division.width)
                                           : std::max(warp, least_threads / division.width);
  return division;
}

/// What the threads of a result have, combined.
std::string write_combined(const Division& division, std::string_view combine) {
  if (division.width == 1) return "";
  if (division.side_by_side)
    return fmt::format("  result = combined<{}, {}<Number>>(result);\n", division.width, combine);
  return fmt::format(
      "  __shared__ Number parts[{0}][{1}];\n  parts[slice][threadIdx.x % {1}] = result;\n  __syncthreads();\n"
      "  if (slice == 0) {{\n    for (int i = 1; i < {0}; ++i) result = {2}<Number>()(result, parts[i][threadIdx.x % "
      "{1}]);\n"
      "  }}\n",
      division.width, division.results, combine);
}

Result<std::vector<Launch>> write_reduce(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View &from = step.inputs[0], &to = step.outputs[0];
  const plan::Reduction reduction = static_cast<const plan::ReduceParameters&>(*step.parameters).reduction;
  const Axes kept("c", from, &to, 0, to.rank()), gone("g", from, nullptr, to.rank(), from.rank());
  const Lane lane = adds(reduction) ? sum_lane(from.type) : plan::lane_of(from.type);
  const Combine combine = combine_of(reduction, lane);
  const Division division = division_of(kept, gone);
  const View* views[] = {&from, &to};
  const bool is_near = fits_31_bits(views);
  std::string result = "result";
  if (reduction == plan::Reduction::mean) result += fmt::format(" / {}", gone.count());
  Launch launch;
  launch.text = fmt::format(
      "{} {{\n  using Index = {};\n  using Count = {};\n  using Number = {};\n"
      "  const int slice = threadIdx.x {} {};\n  const Count kept = (Count)blockIdx.x * {} + threadIdx.x {} {};\n{}"
      "  Number result = {};\n",
      write_parameters(step, preparation), is_near ? "int" : "long long", is_near ? "unsigned" : "unsigned long long",
      lane_type(lane), division.side_by_side ? "%" : "/", division.side_by_side ? division.width : division.results,
      division.results, division.side_by_side ? "/" : "%", division.side_by_side ? division.width : division.results,
      kept.coordinates("kept", "  "), combine.start);
  const std::string place = gone.place(0) == "0"   ? kept.place(0)
                            : kept.place(0) == "0" ? gone.place(0)
                                                   : kept.place(0) + " + " + gone.place(0);
  launch.text += fmt::format(
      "  for (Count at = slice; kept < {} && at < {}; at += {}) {{\n{}    result = {}<Number>()(result, {});\n  }}\n{}"
      "  if (kept < {} && slice == 0) y[{}] = {};\n}}\n",
      kept.count(), gone.count(), division.width, gone.coordinates("at", "    "), combine.type,
      loaded(from.type, lane, fmt::format("x0[{}]", place)), write_combined(division, combine.type), kept.count(),
      kept.place(1), stored(to.type, lane, result));
  launch.add_operands(step);
  const std::int64_t blocks = (kept.count() + division.results - 1) / division.results;
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (blocks > most_blocks) return make_error("not-supported", "more results than a launch has blocks");
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = static_cast<std::uint32_t>(division.threads());
  launch.synchronizes = division.width > 1;
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_reduce(StepRegistry& registry);
void register_reduce(StepRegistry& registry) { registry.add(plan::reduce_step, write_reduce); }

}  // namespace onnxkit::cuda
