#include <fmt/core.h>

#include "libonnxkit/cuda/text/element.h"
#include "libonnxkit/cuda/text/parameters.h"

// A warp for each number of the output, whose threads share the trees.
namespace onnxkit::cuda {
namespace {

constexpr std::int64_t tree_warp = 32, tree_warps = 4;

/// "does = x <= limit", by the kind of the node.
std::string write_comparison() {
  std::string text = "      bool does = x != limit;\n";
  const std::pair<spec::TreeMode, const char*> all[] = {{spec::TreeMode::leq, "<="},
                                                        {spec::TreeMode::lt, "<"},
                                                        {spec::TreeMode::gte, ">="},
                                                        {spec::TreeMode::gt, ">"},
                                                        {spec::TreeMode::eq, "=="}};
  for (const auto& [mode, sign] : all)
    text += fmt::format("      if ((kind & {}) == {}) does = x {} limit;\n", plan::TreeKind::mode,
                        static_cast<int>(mode), sign);
  return text + fmt::format("      if (x != x) does = (kind & {}) != 0;\n", plan::TreeKind::nan_holds);
}

/// The path of one tree, then the weights of its leaf.
std::string write_walk(const plan::Step& step, std::string_view combine) {
  const View &x = step.inputs[0], &thresholds = step.inputs[1], &weights = step.inputs[5];
  const std::string number = loaded(
      x.type, Lane::f64, fmt::format("x0[row * {} + (kind >> {})]", x.strides[0], plan::TreeKind::feature_shift));
  return fmt::format(
      "  for (int tree = thread; tree < {}; tree += {}) {{\n    int node = x3[tree], kind = x2[3LL * node];\n"
      "    while ((kind & {}) != {}) {{\n      const double x = {}, limit = {};\n{}"
      "      node = x2[3LL * node + (does ? 1 : 2)];\n      kind = x2[3LL * node];\n    }}\n"
      "    for (int weight = x2[3LL * node + 1]; weight < x2[3LL * node + 2]; ++weight) {{\n"
      "      if (x4[weight] != target) continue;\n      result = {}<double>()(result, {});\n      count += 1;\n    "
      "}}\n  "
      "}}\n",
      step.inputs[3].size(), tree_warp, plan::TreeKind::mode, static_cast<int>(spec::TreeMode::leaf), number,
      loaded(thresholds.type, Lane::f64, "x1[node]"), write_comparison(), combine,
      loaded(weights.type, Lane::f64, "x5[weight]"));
}

Result<std::vector<Launch>> write_tree_ensemble(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  if (!plan::row_stride_of(step.inputs[0])) return make_error("not-supported", "features that do not lie side by side");
  const View& y = step.outputs[0];
  const auto& of = static_cast<const plan::TreeEnsembleParameters&>(*step.parameters);
  const plan::Reduction reduction = of.reduction;
  const bool is_least = reduction == plan::Reduction::minimum, is_greatest = reduction == plan::Reduction::maximum;
  const std::string_view combine = is_least ? "Smallest" : is_greatest ? "Largest" : "Sum";
  const std::int64_t trees = step.inputs[3].size(), of_thread = (trees + tree_warp - 1) / tree_warp;
  if (auto ends = check_work(y.size() * tree_warp, of_thread * of.deepest, "comparisons"); !ends) return ends.error();
  const std::string result = reduction == plan::Reduction::mean ? fmt::format("result / {}", trees) : "result";
  Launch launch;
  launch.text = fmt::format(
      "{} {{\n  const int thread = threadIdx.x % {};\n  const long long own = (long long)blockIdx.x * {} + threadIdx.x "
      "/ "
      "{};\n  const long long at = own < {} ? own : {};\n  const long long row = at / {}, target = at % {};\n"
      "  double result = {}, count = 0;\n{}  result = combined<{}, {}<double>>(result);\n"
      "  count = combined<{}, Sum<double>>(count);\n  if (thread == 0 && own < {}) y[own] = {};\n}}\n",
      write_parameters(step, preparation), tree_warp, tree_warps, tree_warp, y.size(), y.size() - 1, y.dims[1],
      y.dims[1],
      is_least      ? literal(Lane::f64, std::numeric_limits<double>::infinity())
      : is_greatest ? literal(Lane::f64, -std::numeric_limits<double>::infinity())
                    : "0",
      write_walk(step, combine), tree_warp, combine, tree_warp, y.size(),
      stored(y.type, Lane::f64, fmt::format("(count > 0 ? {} : 0.0)", result)));
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>((y.size() + tree_warps - 1) / tree_warps);
  launch.threads = tree_warps * tree_warp;
  launch.synchronizes = true;
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_tree_ensemble(StepRegistry& registry);
void register_tree_ensemble(StepRegistry& registry) { registry.add(plan::tree_ensemble_step, write_tree_ensemble); }

}  // namespace onnxkit::cuda
