#include "libonnxkit/cuda/text/rows.h"

#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

Result<std::vector<Launch>> launch_of(const plan::Step& step, const RowLoops& rows, std::string text) {
  // Columns are counted in 31 bits, up to a turn of a block behind the last.
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1, most_columns = (std::int64_t{1} << 31) - 2048;
  if (step.inputs[0].dims.back() > most_columns) return make_error("not-supported", "rows of more than 31 bits");
  if (rows.blocks() > most_blocks) return make_error("not-supported", "more rows than a launch has blocks");
  Launch launch;
  launch.text = std::move(text);
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>(rows.blocks());
  launch.threads = rows.threads();
  launch.synchronizes = true;
  return std::vector<Launch>{std::move(launch)};
}

Result<std::vector<Launch>> write_softmax(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View &from = step.inputs[0], &to = step.outputs[0];
  const bool is_log = static_cast<const plan::SoftmaxParameters&>(*step.parameters).is_log;
  const std::int64_t columns = from.dims.back();
  const Lane lane = number_lane(step);
  const RowLoops rows(from.size() / columns, columns, from.type, lane);
  const std::string x = rows.element();
  std::string text = write_parameters(step, preparation) + " {\n" + rows.begin();
  text += fmt::format("  Number most = {};\n", literal(lane, -INFINITY));
  text += rows.each(fmt::format("most = larger(most, {});", x));
  text += fmt::format("  most = {};\n  Number sum = 0;\n", rows.combined("Largest", "most"));
  text += rows.each(fmt::format("sum += exp_of({} - most);", x));
  text += fmt::format("  sum = {};\n", rows.combined("Sum", "sum"));
  if (is_log) text += "  const Number log_sum = log_of(sum);\n";
  const std::string result = is_log ? fmt::format("{} - most - log_sum", x) : fmt::format("exp_of({} - most) / sum", x);
  text += rows.each(fmt::format("y[row * {} + at] = {};", columns, stored(to.type, lane, result)));
  return launch_of(step, rows, text + "}\n");
}

/// Means are doubles: what is far from 0 keeps its small differences.
Result<std::vector<Launch>> write_normalize(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const auto& parameters = static_cast<const plan::NormalizeParameters&>(*step.parameters);
  const View &from = step.inputs[0], &to = step.outputs[0];
  const std::int64_t columns = from.dims.back();
  const Lane lane = number_lane(step);
  const RowLoops rows(from.size() / columns, columns, from.type, Lane::f64);
  const std::string x = rows.element();
  std::string text = write_parameters(step, preparation) + " {\n" + rows.begin();
  std::string centered = x;
  if (parameters.centers) {
    text += "  Number sum = 0;\n" + rows.each(fmt::format("sum += {};", x));
    text += fmt::format("  const Number mean = {} / {};\n", rows.combined("Sum", "sum"), columns);
    centered = fmt::format("({} - mean)", x);
  }
  text += "  Number squares = 0;\n" + rows.each(fmt::format("squares += {0} * {0};", centered));
  text += fmt::format("  const Number inverse = 1 / sqrt_of({} / {} + {});\n", rows.combined("Sum", "squares"), columns,
                      literal(Lane::f64, parameters.epsilon));
  std::string result = fmt::format("({})({} * inverse)", lane_type(lane), centered);
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    result += fmt::format("{}{}", i == 1 ? " * " : " + ", loaded(step.inputs[i].type, lane, fmt::format("x{}[at]", i)));
  }
  text += rows.each(fmt::format("y[row * {} + at] = {};", columns, stored(to.type, lane, result)));
  return launch_of(step, rows, text + "}\n");
}

/// One pass finds the greatest magnitude of a row, the other rounds; short rows are read once.
Result<std::vector<Launch>> write_quantize_rows(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const View& from = step.inputs[0];
  const std::int64_t columns = from.dims.back();
  const auto row_stride = plan::row_stride_of(from);
  if (!row_stride) return make_error("not-supported", "rows that are not evenly apart");
  const std::int64_t count = from.size() / columns;
  const RowLoops rows(count, columns, from.type, Lane::f32, *row_stride);
  const std::string x = rows.element();
  std::string text = write_parameters(step, preparation) + " {\n" + rows.begin();
  text += "  Number most = 0;\n" + rows.each(fmt::format("most = larger(most, absolute({}));", x));
  text += fmt::format("  const float scale = float8_scale({}), factor = over_power(scale);\n",
                      rows.combined("Largest", "most"));
  text += rows.each(fmt::format("y[row * {} + at] = encoded<float8>({} * factor);", columns, x));
  text += fmt::format("  if (thread == 0 && row < {}) y1[row] = scale;\n", count);
  return launch_of(step, rows, text + "}\n");
}

}  // namespace

void register_rows(StepRegistry& registry);
void register_rows(StepRegistry& registry) {
  registry.add(plan::softmax_step, write_softmax);
  registry.add(plan::normalize_step, write_normalize);
  registry.add(plan::quantize_rows_step, write_quantize_rows);
}

}  // namespace onnxkit::cuda
