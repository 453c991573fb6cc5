#include <fmt/core.h>

#include "libonnxkit/cuda/text/few_rows.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// A product of one row for each choice, with a pointer to the matrix that it reads.
Result<std::vector<Launch>> write_grouped_product(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  if (static_cast<const plan::GroupedProductParameters&>(*step.parameters).blocks)
    return make_error("not-supported", "weights that are packed in blocks");
  const View &a = step.inputs[0], &b = step.inputs[1], &c = step.outputs[0];
  View row = a, matrices = b;  // [rows, times, 1, k] and [1, groups, k, n]
  row.dims.insert(row.dims.begin() + 2, 1);
  row.strides.insert(row.strides.begin() + 2, a.dims[2]);
  matrices.dims.insert(matrices.dims.begin(), 1);
  matrices.strides.insert(matrices.strides.begin(), 0);
  const std::int64_t times = a.dims[1], groups = b.dims[0], n = c.dims[2];
  const auto rows = FewRows::of(row, matrices, a.dims[0] * times, number_lane(step));
  if (!rows) return make_error("not-supported", "a product of integers");
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (rows->blocks() > most_blocks) return make_error("not-supported", "more rows than a launch has blocks");
  const View* const views[] = {&a, &b, &c};
  Launch launch;
  launch.text = fmt::format(
      "{} {{\n  using Index = {};\n{}{}  long long choice = x2[batch];\n"
      "  if (choice < 0 || choice >= {}) {{\n    *fault = 1;\n    choice = 0;\n  }}\n"
      "  const auto* const a = x0 + batch / {} * {} + batch % {} * {};\n  const auto* const b = x1 + choice * {};\n"
      "{}{}    y[batch * {} + n] = {};\n{}}}\n",
      write_parameters(step, preparation, true), fits_31_bits(views) ? "int" : "long long", rows->begin(true),
      rows->batches() == 1 ? "  constexpr Index batch = 0;\n" : "", groups, times, a.strides[0], times, a.strides[1],
      b.strides[0], rows->sums(), rows->begin_results(), n, stored(c.type, number_lane(step), "sum"),
      rows->end_results());
  launch.fault = "a row chooses a matrix that is not there";
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>(rows->blocks());
  launch.threads = rows->threads();
  launch.synchronizes = true;
  launch.spends_registers = true;
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_grouped_product(StepRegistry& registry);
void register_grouped_product(StepRegistry& registry) {
  registry.add(plan::grouped_product_step, write_grouped_product);
}

}  // namespace onnxkit::cuda
