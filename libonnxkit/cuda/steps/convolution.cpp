#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/text/axes.h"
#include "libonnxkit/cuda/text/parameters.h"
#include "libonnxkit/cuda/text/tiles.h"
#include "libonnxkit/cuda/text/window.h"

namespace onnxkit::cuda {
namespace {

/// A convolution as texts see it: images [n, c, ...], weights [m, c / groups, ...].
struct Convolution {
  const plan::Step& step;
  const plan::ConvolutionParameters& parameters;
  View from = without_single_axes(step.inputs[0]), weights = without_single_axes(step.inputs[1]),
       to = without_single_axes(step.outputs[0]);
  Window window{Dims(weights.dims.begin() + 2, weights.dims.end()), parameters.strides, parameters.dilations,
                parameters.pads};
  Lane lane = number_lane(step);
  std::int64_t in_channels = weights.dims[1], out_channels = weights.dims[0] / parameters.groups;  ///< of a group
  std::int64_t taps = plan::element_count(window.kernel);

  std::size_t axes() const { return window.kernel.size(); }
  /// The number that the epilogue makes of `sum` at the coordinates c0, c1 ...
  Result<ExpressionText> result() const {
    if (parameters.epilogue.empty()) return ExpressionText{.statements = "", .result = "sum", .lane = lane};
    std::vector<InputText> inputs = {{"sum", lane == Lane::f64 ? ElementType::float64 : ElementType::float32, true}};
    for (std::size_t i = 2; i < step.inputs.size(); ++i) {
      const std::string place = place_text(axis_names("c", to.rank()), without_single_axes(step.inputs[i]).strides);
      inputs.push_back({fmt::format("x{}[{}]", i, place), step.inputs[i].type});
    }
    return write_expression(parameters.epilogue, inputs, "    ");
  }
  std::string head(const Preparation& preparation) const {
    std::vector<const View*> views;
    for (const View& view : step.inputs) views.push_back(&view);
    views.push_back(&to);
    const bool is_near = fits_31_bits(views);
    return fmt::format("{} {{\n  using Index = {};\n", write_parameters(step, preparation),
                       is_near ? "int" : "long long");
  }
};

/// Whether no weight is infinite or NaN; what only the run tells may be.
bool has_finite_weights(const Convolution& c, const Preparation& preparation) {
  const View& weights = c.step.inputs[1];
  if (plan::lane_of(weights.type) == Lane::i64) return true;
  if (!preparation.is_constant(weights)) return false;
  const Tensor& content = preparation.plan.constants[preparation.plan.buffers[weights.buffer].index];
  std::vector<double> numbers(static_cast<std::size_t>(content.size()));
  decode(content.type(), content.bytes(), std::span<double>(numbers));
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

/// One channel of a group: a thread for each element of the output.
Result<Launch> write_depthwise(const Convolution& c, const Preparation& preparation) {
  const OrderedLoop loop(c.to);
  const auto result = c.result();
  if (!result) return result.error();
  const std::string channel = c.out_channels == 1 ? "c1" : "channel";
  std::vector<std::string> taps = axis_names("t", c.axes());
  taps.insert(taps.begin(), "c1");
  Dims weight_strides = c.weights.strides;
  weight_strides.erase(weight_strides.begin() + 1);
  Launch launch;
  launch.text = c.head(preparation) + fmt::format("  using Number = {};\n", lane_type(c.lane)) + loop.begin() +
                c.window.starts(c.to, "    ");
  if (c.out_channels != 1) launch.text += fmt::format("    const Index channel = c1 / {};\n", c.out_channels);
  // Zeros around the image times an infinite weight are NaN.
  const std::string inside = has_finite_weights(c, preparation) ? "" : c.window.inside(c.from, c.to);
  std::string pixel = loaded(c.from.type, c.lane, fmt::format("x0[{}]", c.window.place(c.from, "c0", channel)));
  if (!inside.empty()) pixel = fmt::format("({} ? {} : Number(0))", inside, pixel);
  launch.text += "    Number sum = 0;\n";
  launch.text += inside.empty() ? c.window.begin_taps(c.from, "    ") : c.window.begin_all_taps("    ");
  launch.text += fmt::format("{}sum += {} * {};\n", std::string(4 + 2 * c.axes(), ' '), pixel,
                             loaded(c.weights.type, c.lane, fmt::format("x1[{}]", place_text(taps, weight_strides))));
  launch.text += c.window.end_taps("    ") + result->statements +
                 fmt::format("    y[{}] = {};\n", loop.place(c.to), stored(c.to.type, result->lane, result->result)) +
                 loop.end() + "}\n";
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return launch;
}

/// Pixels of all images in the order of the output's strides, apart from images: the coordinates of a pixel.
std::string pixel_coordinates(const Convolution& c, std::string_view pixel, std::string_view indent) {
  Dims sizes = {c.to.dims[0]};
  std::vector<std::string> names = {"c0"};
  for (std::size_t i = 0; i < c.axes(); ++i) {
    sizes.push_back(c.to.dims[i + 2]);
    names.push_back(fmt::format("c{}", i + 2));
  }
  for (std::size_t axis = 0; axis < names.size(); ++axis)
    if (sizes[axis] == 1) names[axis].clear();
  return fmt::format("{0}Index pixel_rest = {1};\n", indent, pixel) + split_index("pixel_rest", names, sizes, indent);
}

/// Taps from the number of one: t0, t1 ...
std::string tap_coordinates(const Convolution& c, std::string_view tap, std::string_view indent) {
  if (c.taps == 1) return "";
  std::vector<std::string> names = axis_names("t", c.axes());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (c.window.kernel[i] == 1) names[i].clear();
  return fmt::format("{0}Index tap_rest = {1};\n", indent, tap) +
         split_index("tap_rest", names, c.window.kernel, indent);
}

/// Rows are pixels; k runs over the taps and, within each, over the channels.
TileOperand image_operand(const Convolution& c, bool is_tap_of_tile) {
  TileOperand a;
  a.once = pixel_coordinates(c, "row + m", "  ") + c.window.starts(c.to, "  ");
  const std::string indent = is_tap_of_tile ? "    " : "      ";
  std::string tap = tap_coordinates(
      c, is_tap_of_tile ? fmt::format("k0 / {}", c.in_channels) : fmt::format("k / {}", c.in_channels), indent);
  for (std::size_t i = 0; i < c.axes(); ++i) {
    const bool moves = c.window.kernel[i] > 1;
    tap += moves ? fmt::format("{0}const Index i{1} = start{1} + t{1} * {2};\n", indent, i, c.window.dilations[i])
                 : fmt::format("{0}const Index i{1} = start{1};\n", indent, i);
  }
  if (is_tap_of_tile)
    a.each_tile = tap;
  else
    a.each = tap;
  a.condition = c.window.inside(c.from, c.to);
  const std::string channel = c.taps == 1 ? "k" : fmt::format("(k % {})", c.in_channels);
  const std::string group =
      c.parameters.groups == 1 ? channel : fmt::format("(group * {} + {})", c.in_channels, channel);
  a.element = loaded(c.from.type, c.lane, fmt::format("x0[{}]", c.window.place(c.from, "c0", group)));
  return a;
}

/// Columns are channels of the output.
TileOperand weight_operand(const Convolution& c, bool is_tap_of_tile) {
  TileOperand b;
  b.is_depth_first = true;
  if (!is_tap_of_tile) b.each = tap_coordinates(c, fmt::format("k / {}", c.in_channels), "      ");
  std::vector<std::string> names = axis_names("t", c.axes());
  const std::string column =
      c.parameters.groups == 1 ? "(column + n)" : fmt::format("(group * {} + column + n)", c.out_channels);
  names.insert(names.begin(), {column, c.taps == 1 ? "k" : fmt::format("(k % {})", c.in_channels)});
  b.element = loaded(c.weights.type, c.lane, fmt::format("x1[{}]", place_text(names, c.weights.strides)));
  return b;
}

/// As a product of pixels and weights, for each group.
Result<Launch> write_tiled(const Convolution& c, const Preparation& preparation) {
  const std::int64_t pixels = c.to.size() / c.to.dims[1], depth = c.taps * c.in_channels;
  const TiledSums tiles(c.lane, c.parameters.groups, pixels, c.out_channels, depth);
  const auto result = c.result();
  if (!result) return result.error();
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (tiles.blocks() > most_blocks || pixels > most_blocks)
    return make_error("not-supported", "more tiles than a launch has blocks");
  Launch launch;
  launch.text = c.head(preparation) + tiles.begin();
  if (c.parameters.groups != 1) launch.text += "  const Index group = batch;\n";
  const bool is_tap_of_tile = c.in_channels % TiledSums::depth() == 0;
  launch.text += tiles.sums(image_operand(c, is_tap_of_tile), weight_operand(c, is_tap_of_tile));
  const std::int64_t last = c.to.strides.back();
  launch.text += tiles.begin_results(std::abs(c.to.strides[1]) <= std::abs(last));
  launch.text += pixel_coordinates(c, "m", "    ");
  if (c.to.dims[1] > 1)
    launch.text += c.parameters.groups == 1 ? "    const Index c1 = n;\n"
                                            : fmt::format("    const Index c1 = group * {} + n;\n", c.out_channels);
  launch.text += result->statements;
  launch.text += fmt::format("    y[{}] = {};\n{}}}\n", place_text(axis_names("c", c.to.rank()), c.to.strides),
                             stored(c.to.type, result->lane, result->result), tiles.end_results());
  launch.blocks = static_cast<std::uint32_t>(tiles.blocks());
  launch.threads = tiles.threads();
  launch.synchronizes = true;
  return launch;
}

Result<std::vector<Launch>> write_convolution(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const auto& parameters = static_cast<const plan::ConvolutionParameters&>(*step.parameters);
  const Convolution convolution{step, parameters};
  auto launch = convolution.in_channels == 1 && parameters.groups > 1 ? write_depthwise(convolution, preparation)
                                                                      : write_tiled(convolution, preparation);
  if (!launch) return launch.error();
  launch->add_operands(step);
  return std::vector<Launch>{*std::move(launch)};
}

}  // namespace

void register_convolution(StepRegistry& registry);
void register_convolution(StepRegistry& registry) { registry.add(plan::convolution_step, write_convolution); }

}  // namespace onnxkit::cuda
