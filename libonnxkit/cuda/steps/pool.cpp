#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/axes.h"
#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/parameters.h"
#include "libonnxkit/cuda/text/window.h"

namespace onnxkit::cuda {
namespace {

/// How many of a window's elements lie in front of the end of the padding.
std::string padded_counts(const View& from, const plan::PoolParameters& p) {
  std::string text = "    int divisor = 1;\n";
  for (std::size_t i = 0; i < p.kernel.size(); ++i) {
    text += fmt::format(
        "    {{\n      int inside = 0;\n      for (int s = 0; s < {0}; ++s) inside += start{1} + s * {2} < {3};\n"
        "      divisor *= inside;\n    }}\n",
        p.kernel[i], i, p.dilations[i], from.dims[i + 2] + p.pads[p.kernel.size() + i]);
  }
  return text;
}

/// A thread for each element of the output, in the order of its strides.
Result<std::vector<Launch>> write_pool(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const auto& p = static_cast<const plan::PoolParameters&>(*step.parameters);
  const View &from = step.inputs[0], &to = step.outputs[0];
  const Lane lane = p.is_maximum ? plan::lane_of(from.type) : sum_lane(from.type);
  const OrderedLoop loop(to);
  const Window window{p.kernel, p.strides, p.dilations, p.pads};
  const View* views[] = {&from, &to};
  std::string text =
      fmt::format("{} {{\n  using Index = {};\n  using Number = {};\n{}", write_parameters(step, preparation),
                  fits_31_bits(views) ? "int" : "long long", lane_type(lane), loop.begin());
  text += window.starts(to, "    ");
  text += fmt::format("    Number result = {};\n", p.is_maximum ? literal(lane, -INFINITY) : "0");
  if (!p.is_maximum && !p.counts_padding) text += "    int divisor = 0;\n";
  if (!p.is_maximum && p.counts_padding) text += padded_counts(from, p);
  const std::string x = loaded(from.type, lane, fmt::format("x0[{}]", window.place(from, "c0", "c1")));
  std::string body =
      p.is_maximum ? fmt::format("result = larger(result, {});\n", x) : fmt::format("result += {};\n", x);
  text += window.begin_taps(from, "    ");
  const std::string indent(4 + 2 * p.kernel.size(), ' ');
  text += indent + body;
  if (!p.is_maximum && !p.counts_padding) text += indent + "++divisor;\n";
  text += window.end_taps("    ");
  text +=
      fmt::format("    y[{}] = {};\n{}}}\n", loop.place(to),
                  stored(to.type, lane, p.is_maximum ? "result" : "result / (divisor > 1 ? divisor : 1)"), loop.end());
  Launch launch;
  launch.text = std::move(text);
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_pool(StepRegistry& registry);
void register_pool(StepRegistry& registry) { registry.add(plan::pool_step, write_pool); }

}  // namespace onnxkit::cuda
