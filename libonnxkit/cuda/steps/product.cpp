#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/few_rows.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"
#include "libonnxkit/cuda/text/tiles.h"

namespace onnxkit::cuda {
namespace {

/// Axes in front of the last two that have more than one element, as coordinates b0, b1 ... of `batch`.
struct Batches {
  std::vector<std::size_t> axes;
  Dims sizes;
  std::vector<std::string> names;

  explicit Batches(const View& output) {
    for (std::size_t axis = 0; axis + 2 < output.rank(); ++axis)
      if (output.dims[axis] > 1) axes.push_back(axis), sizes.push_back(output.dims[axis]);
    names = axis_names("b", sizes.size());
  }
  std::int64_t count() const { return plan::element_count(sizes); }
  std::string coordinates() const {
    if (sizes.empty()) return "";
    return "  unsigned rest = batch;\n" + split_index("rest", names, sizes, "  ");
  }
  std::string place(const View& view) const { return place_text(names, strides(view)); }
  /// With the last two axes as m and n.
  std::string element_place(const View& view) const {
    std::vector<std::string> all = names;
    all.insert(all.end(), {"m", "n"});
    Dims all_strides = strides(view);
    all_strides.insert(all_strides.end(), view.strides.end() - 2, view.strides.end());
    return place_text(all, all_strides);
  }

 private:
  Dims strides(const View& view) const {
    Dims result;
    for (const std::size_t axis : axes) result.push_back(view.strides[axis]);
    return result;
  }
};

/// An operand of two axes, of which the first is that of its rows or columns.
TileOperand operand_text(const View& view, Lane lane, std::string_view pointer, char name, std::int64_t stride,
                         std::int64_t k_stride) {
  TileOperand operand;
  operand.is_depth_first = std::abs(k_stride) < std::abs(stride);
  const std::string names[] = {std::string(1, name), "k"};
  const std::int64_t strides[] = {stride, k_stride};
  operand.element = loaded(view.type, lane, fmt::format("{}[{}]", pointer, place_text(names, strides)));
  return operand;
}

struct Product {
  const plan::Step& step;
  const Preparation& preparation;
  const View &a = step.inputs[0], &b = step.inputs[1], &c = step.outputs[0];
  std::size_t rank = c.rank();
  Batches batches{c};
  Lane lane = number_lane(step);

  const plan::ProductParameters& parameters() const {
    return static_cast<const plan::ProductParameters&>(*step.parameters);
  }
  /// The number that the epilogue makes of `sum` at m and n.
  Result<ExpressionText> result() const;
  /// Up to the pointers a and b, which `row` and `column` are added to.
  std::string head(std::string_view begin, const std::string& row, const std::string& column) const;
  std::string store(const ExpressionText& result) const {
    return fmt::format("{}    y[{}] = {};\n", result.statements, batches.element_place(c),
                       stored(c.type, result.lane, result.result));
  }
  Result<Launch> launch(std::string text, std::int64_t blocks, std::uint32_t threads) const;
};

Result<ExpressionText> Product::result() const {
  if (parameters().epilogue.empty()) return ExpressionText{.statements = "", .result = "sum", .lane = lane};
  std::vector<InputText> inputs = {{"sum",
                                    lane == Lane::f32   ? ElementType::float32
                                    : lane == Lane::f64 ? ElementType::float64
                                                        : ElementType::int64,
                                    true}};
  for (std::size_t i = 2; i < step.inputs.size(); ++i)
    inputs.push_back({fmt::format("x{}[{}]", i, batches.element_place(step.inputs[i])), step.inputs[i].type});
  return write_expression(parameters().epilogue, inputs, "    ");
}

std::string Product::head(std::string_view begin, const std::string& row, const std::string& column) const {
  std::vector<const View*> views = {&c};
  for (const View& view : step.inputs) views.push_back(&view);
  return fmt::format(
      "{} {{\n  using Index = {};\n{}{}  const auto* const a = x0 + {}{};\n  const auto* const b = x1 + {}{};\n",
      write_parameters(step, preparation), fits_31_bits(views) ? "int" : "long long", begin, batches.coordinates(),
      batches.place(a), row, batches.place(b), column);
}

Result<Launch> Product::launch(std::string text, std::int64_t blocks, std::uint32_t threads) const {
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (blocks > most_blocks) return make_error("not-supported", "more tiles than a launch has blocks");
  Launch launch;
  launch.text = std::move(text);
  launch.add_operands(step);
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = threads;
  launch.synchronizes = true;
  return launch;
}

Result<Launch> write_few_rows(const Product& product, const FewRows& rows) {
  const auto result = product.result();
  if (!result) return result.error();
  auto launch = product.launch(product.head(rows.begin(), "", "") + rows.sums() + rows.begin_results() +
                                   product.store(*result) + rows.end_results() + "}\n",
                               rows.blocks(), rows.threads());
  if (launch) launch->spends_registers = true;
  return launch;
}

Result<Launch> write_tiled_product(const Product& product) {
  const View &a = product.a, &b = product.b, &c = product.c;
  const std::size_t rank = product.rank;
  const TiledSums tiles(product.lane, product.batches.count(), c.dims[rank - 2], c.dims[rank - 1], a.dims[rank - 1]);
  const TileOperand of_a = operand_text(a, product.lane, "a", 'm', a.strides[rank - 2], a.strides[rank - 1]);
  const TileOperand of_b = operand_text(b, product.lane, "b", 'n', b.strides[rank - 1], b.strides[rank - 2]);
  const auto result = product.result();
  if (!result) return result.error();
  return product.launch(product.head(tiles.begin(), fmt::format(" + row * {}", a.strides[rank - 2]),
                                     fmt::format(" + column * {}", b.strides[rank - 1])) +
                            tiles.sums(of_a, of_b) +
                            tiles.begin_results(std::abs(c.strides[rank - 1]) <= std::abs(c.strides[rank - 2])) +
                            product.store(*result) + tiles.end_results() + "}\n",
                        tiles.blocks(), tiles.threads());
}

Result<std::vector<Launch>> write_product(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  const Product product{step, preparation};
  if (product.parameters().blocks) return make_error("not-supported", "weights that are packed in blocks");
  const auto rows = FewRows::of(product.a, product.b, product.batches.count(), product.lane);
  auto launch = rows ? write_few_rows(product, *rows) : write_tiled_product(product);
  if (!launch) return launch.error();
  return std::vector<Launch>{*std::move(launch)};
}

}  // namespace

void register_product(StepRegistry& registry);
void register_product(StepRegistry& registry) { registry.add(plan::product_step, write_product); }

}  // namespace onnxkit::cuda
