// Images of other sizes whose pixels are weighted sums of rows and columns: products with matrices that are known when converting.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// What each place of a resized axis takes of the places of the axis: [to, from].
struct Weights {
  std::int64_t to = 0, from = 0;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(to * from), 0);

  void add(std::int64_t row, std::int64_t column, double weight) {
    values[static_cast<std::size_t>(row * from + std::clamp<std::int64_t>(column, 0, from - 1))] += weight;
  }
};

struct Resizing {
  std::int64_t from[2], to[2];  ///< rows, columns
};

std::optional<Resizing> resizing_of(Call& call, Val images) {
  constexpr std::int64_t longest = 1 << 16, most_weights = 1 << 22;  // 16 MiB for an axis
  const std::vector<std::int64_t> wanted = known_integers(call, "size");
  Resizing sizes{};
  bool is_known = call.rank(images) == 4 && wanted.size() == 2 && !call.refused(), fits = true;
  for (std::size_t a = 0; a < 2 && is_known; ++a) {
    sizes.from[a] = call.onnx.size(images, a + 1).value_or(0);
    sizes.to[a] = wanted[a];
    is_known = sizes.from[a] > 0 && sizes.to[a] > 0;
    fits = fits && sizes.from[a] <= longest && sizes.to[a] <= longest && sizes.from[a] * sizes.to[a] <= most_weights;
  }
  if (is_known && fits) return sizes;
  if (is_known)
    call.refuse("its images are too large for weights between all rows, or all columns, of both sizes");
  else
    call.refuse("the sizes of its images are not known, and its weights depend on them",
                "export the model with images of fixed size, or convert it with --input-shape");
  return std::nullopt;
}

/// Rows are summed up first, then columns; the result is float32.
void give_weighted(Call& call, Val images, const Weights& rows, const Weights& columns) {
  auto& onnx = call.onnx;
  const Val x = foreign::channels_first(onnx, onnx.cast(images, ElementType::float32));
  const Val left = onnx.reals(ElementType::float32, {rows.to, rows.from}, rows.values);
  const Val right = onnx.reals(ElementType::float32, {columns.to, columns.from}, columns.values);
  const Val tall = onnx.emit("MatMul", {left, x});
  foreign::result_channels_first(call, onnx.emit("MatMul", {tall, onnx.transpose(right, {1, 0})}));
}

float scale_between(std::int64_t from, std::int64_t to, bool aligns_corners) {
  if (aligns_corners && to > 1) return static_cast<float>(from - 1) / static_cast<float>(to - 1);
  return static_cast<float>(from) / static_cast<float>(to);
}

// ---- means of areas

Weights area_weights(std::int64_t from, std::int64_t to, bool aligns_corners) {
  const float scale = scale_between(from, to, aligns_corners);
  Weights weights{to, from};
  for (std::int64_t row = 0; row < to; ++row) {
    const float start = static_cast<float>(row) * scale, end = static_cast<float>(row + 1) * scale;
    for (auto place = static_cast<std::int64_t>(std::floor(start)); static_cast<float>(place) < end; ++place) {
      const auto low = static_cast<float>(place);
      const float covered = std::min(low + 1, end) - std::max(low, start);
      weights.add(row, place, static_cast<double>(covered) / static_cast<double>(scale));
    }
  }
  return weights;
}

void map_resize_area(Call& call) {
  const Val images = call.tensor("images");
  const auto sizes = resizing_of(call, images);
  if (!sizes) return;
  const bool aligned = call.flag("align_corners", false);
  for (std::size_t a = 0; a < 2; ++a)
    if (aligned && sizes->from[a] == 1 && sizes->to[a] > 1)
      return call.refuse("its corners are aligned and an axis has one pixel, whose area is then none");
  give_weighted(call, images, area_weights(sizes->from[0], sizes->to[0], aligned),
                area_weights(sizes->from[1], sizes->to[1], aligned));
}

// ---- cubic interpolation

/// Weights of four neighbours come from a table of 1024 steps between two pixels.
constexpr std::int64_t table_steps = 1024;

double near_weight(double distance, double a) { return ((a + 2) * distance - (a + 3)) * distance * distance + 1; }
double far_weight(double distance, double a) { return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a; }

/// With centers, pixels outside weigh nothing; else they are those at the border.
Weights cubic_weights(std::int64_t from, std::int64_t to, bool aligns_corners, bool has_centers) {
  const float scale = scale_between(from, to, aligns_corners);
  const double a = has_centers ? -0.5 : -0.75;
  Weights weights{to, from};
  for (std::int64_t row = 0; row < to; ++row) {
    const float at = has_centers ? (static_cast<float>(row) + 0.5F) * scale - 0.5F : static_cast<float>(row) * scale;
    const auto first = static_cast<std::int64_t>(std::floor(at));
    const auto step = static_cast<double>(std::lrint((at - static_cast<float>(first)) * table_steps)) / table_steps;
    const double four[] = {far_weight(1 + step, a), near_weight(step, a), near_weight(1 - step, a),
                           far_weight(2 - step, a)};
    double sum = 0;
    const auto counts = [&](std::int64_t place) { return !has_centers || (place >= 0 && place < from); };
    for (std::int64_t i = 0; i < 4; ++i) sum += counts(first - 1 + i) ? four[i] : 0;
    const double divisor = has_centers && sum != 0 ? sum : 1;
    for (std::int64_t i = 0; i < 4; ++i)
      if (counts(first - 1 + i)) weights.add(row, first - 1 + i, four[i] / divisor);
  }
  return weights;
}

void map_resize_cubic(Call& call) {
  const Val images = call.tensor("images");
  const auto sizes = resizing_of(call, images);
  if (!sizes) return;
  const bool aligned = call.flag("align_corners", false), centered = call.flag("half_pixel_centers", false);
  if (aligned && centered)
    return call.refuse("its corners are aligned and its pixels have centers, which no runtime does");
  give_weighted(call, images, cubic_weights(sizes->from[0], sizes->to[0], aligned, centered),
                cubic_weights(sizes->from[1], sizes->to[1], aligned, centered));
}

// ---- kernels that are scaled and moved

struct Kernel {
  std::string_view name;
  double radius;
  double (*weight)(double distance, double radius);  ///< of distances within the radius
};

double lanczos(double x, double radius) {
  if (x <= 1e-3) return 1;
  const double angle = x * std::numbers::pi;
  return radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}
double gaussian(double x, double radius) { return x < radius ? std::exp(-x * x * 9 / (2 * radius * radius)) : 0; }
double box(double x, double) { return x < 0.5 ? 1 : x == 0.5 ? 0.5 : 0; }
double triangle(double x, double) { return x < 1 ? 1 - x : 0; }
double keys_cubic(double x, double) { return x >= 2 ? 0 : x >= 1 ? far_weight(x, -0.5) : near_weight(x, -0.5); }
double mitchell_cubic(double x, double) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0 / 18) * x + 2) * x - 10.0 / 3) * x + 16.0 / 9;
  return ((7.0 / 6) * x - 2) * x * x + 8.0 / 9;
}
constexpr Kernel kernels[] = {{"lanczos1", 1, lanczos},
                              {"lanczos3", 3, lanczos},
                              {"lanczos5", 5, lanczos},
                              {"gaussian", 1.5, gaussian},
                              {"box", 1, box},
                              {"triangle", 1, triangle},
                              {"keyscubic", 2, keys_cubic},
                              {"mitchellcubic", 2, mitchell_cubic}};

Weights kernel_weights(const Kernel& kernel, std::int64_t from, std::int64_t to, float scale, float shift,
                       bool antialias) {
  const float inverse = 1 / scale, inverse_shift = -inverse * shift;
  const double wide = antialias ? std::max(inverse, 1.0F) : 1;
  const double reach = kernel.radius * wide;
  Weights weights{to, from};
  for (std::int64_t row = 0; row < to; ++row) {
    const float at = (static_cast<float>(row) + 0.5F) * inverse + inverse_shift;
    if (!(at >= 0) || at > static_cast<float>(from)) continue;
    const auto inside = [&](double place) {
      return static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(from - 1)));
    };
    const std::int64_t first = inside(std::ceil(at - reach - 0.5)), last = inside(std::floor(at + reach - 0.5));
    std::vector<double> found;
    double sum = 0;
    for (std::int64_t place = first; place <= last; ++place) {
      const double distance = std::abs(static_cast<double>(place) + 0.5 - static_cast<double>(at)) / wide;
      found.push_back(distance > kernel.radius ? 0 : kernel.weight(distance, kernel.radius));
      sum += found.back();
    }
    if (std::abs(sum) < 1000 * static_cast<double>(std::numeric_limits<float>::min())) continue;
    for (std::int64_t place = first; place <= last; ++place)
      weights.add(row, place, found[static_cast<std::size_t>(place - first)] / sum);
  }
  return weights;
}

/// Two floats that the file stores, or a quotient of integers that are known, as programs compute a scale from sizes.
std::optional<std::vector<float>> known_floats(OnnxBuilder& onnx, Val value, int depth = 0) {
  if (const auto bytes = onnx.initializer_bytes(value); bytes && onnx.elem(value) == ElementType::float32) {
    std::vector<float> floats(bytes->size() / sizeof(float));
    std::memcpy(floats.data(), bytes->data(), floats.size() * sizeof(float));
    return floats;
  }
  if (const auto integers = onnx.constant_integers(value))
    return std::vector<float>(integers->begin(), integers->end());
  const auto& nodes = onnx.graph().nodes;
  const auto made = std::find_if(nodes.rbegin(), nodes.rend(), [&](const ir::Node& node) {
    return !node.outputs.empty() && node.outputs.front() == value.id;
  });
  constexpr int most = 4;
  // A quotient of integers, or a number made an integer, is rounded.
  if (made == nodes.rend() || depth > most || !is_floating(onnx.elem(value))) return std::nullopt;
  const auto operand = [&](std::size_t at) {
    return known_floats(onnx, Val{value.graph, made->inputs[at]}, depth + 1);
  };
  if (made->op_type == "Cast") return operand(0);
  if (made->op_type != "Div") return std::nullopt;
  auto above = operand(0), below = operand(1);
  if (!above || !below || above->size() != below->size()) return std::nullopt;
  for (std::size_t i = 0; i < above->size(); ++i) (*above)[i] /= (*below)[i];
  return above;
}

void map_scale_and_translate(Call& call) {
  const Val images = call.tensor("images");
  const auto sizes = resizing_of(call, images);
  if (!sizes) return;
  const auto scale = known_floats(call.onnx, call.tensor("scale")),
             shift = known_floats(call.onnx, call.tensor("translation"));
  if (!scale || !shift || scale->size() != 2 || shift->size() != 2 || !((*scale)[0] > 0) || !((*scale)[1] > 0))
    return call.refuse("its scale and its translation are not known");
  const std::string_view name = call.text("kernel_type", "lanczos3");
  const auto* kernel =
      std::find_if(std::begin(kernels), std::end(kernels), [&](const Kernel& one) { return one.name == name; });
  if (kernel == std::end(kernels)) return call.refuse("its kernel is not known");
  const bool antialias = call.flag("antialias", true);
  const auto of = [&](std::size_t a) {
    return kernel_weights(*kernel, sizes->from[a], sizes->to[a], (*scale)[a], (*shift)[a], antialias);
  };
  give_weighted(call, images, of(0), of(1));
}

}  // namespace

void register_resampling(Mappings& mappings);
void register_resampling(Mappings& mappings) {
  mappings.add("ResizeArea", {"images", "size"}, map_resize_area);
  mappings.add("ResizeBicubic", {"images", "size"}, map_resize_cubic);
  mappings.add("ScaleAndTranslate", {"images", "size", "scale", "translation"}, map_scale_and_translate);
}

}  // namespace onnxkit::saved_model
