// GridSample: the input sampled at the positions that a grid states, from -1 to 1 along each spatial axis. Version 16 has two spatial axes, 20 any
// number, under other names of the modes.
#include <algorithm>
#include <array>
#include <cmath>

#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

enum class GridSampleMode { nearest, linear, cubic };
enum class Padding { zeros, border, reflection };

/// The neighbours of a position are 2 or 4 to the power of the number of axes.
constexpr std::size_t max_interpolated_axes = 10;

struct GridSampleRules {
  GridSampleMode mode;
  Padding padding;
  bool align_corners;
};

GridSampleRules rules_of_grid_sample(const KernelContext& context) {
  const std::string_view mode = context.string("mode"), padding = context.string("padding_mode");
  const bool cubic = mode == "cubic" || mode == "bicubic", nearest = mode == "nearest";
  require(cubic || nearest || mode == "linear" || mode == "bilinear", "unknown mode");
  require(padding == "zeros" || padding == "border" || padding == "reflection", "unknown padding_mode");
  return {cubic     ? GridSampleMode::cubic
          : nearest ? GridSampleMode::nearest
                    : GridSampleMode::linear,
          padding == "zeros"    ? Padding::zeros
          : padding == "border" ? Padding::border
                                : Padding::reflection,
          context.integer("align_corners") != 0};
}

/// The element that stands for an integral position, maybe outside of the axis.
std::int64_t element_at(double at, std::int64_t size, const GridSampleRules& rules) {
  const auto last = static_cast<double>(size - 1);
  if (0 <= at && at <= last) return static_cast<std::int64_t>(at);
  if (rules.padding == Padding::zeros || !std::isfinite(at)) return no_source;
  if (rules.padding == Padding::border) return at < 0 ? 0 : size - 1;
  // Mirrors are the centres of the outer elements, or their outer edges.
  const double low = rules.align_corners ? 0 : -0.5, span = rules.align_corners ? last : last + 1;
  if (span == 0) return 0;
  const double rest = std::fmod(std::abs(at - low), 2 * span);
  return static_cast<std::int64_t>(std::clamp(low + (rest > span ? 2 * span - rest : rest), 0.0, last));
}

struct Tap {
  std::int64_t from;  ///< no_source for zero
  double weight;
};

/// What Keys' cubic convolution with a = -0.75 gives to elements at distances 1 + t, t, 1 - t and 2 - t.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

std::vector<Tap> taps_of_grid_sample(double normalized, std::int64_t size, const GridSampleRules& rules,
                                     const Noise* noise, std::uint64_t key) {
  const auto count = static_cast<double>(size);
  double at = rules.align_corners ? (normalized + 1) / 2 * (count - 1) : ((normalized + 1) * count - 1) / 2;
  const auto tap = [&](double i, double weight) { return Tap{element_at(i, size, rules), weight}; };
  if (rules.mode == GridSampleMode::nearest) return {tap(std::nearbyint(at), 1)};
  if (noise) at = noise->position(at, key);
  const double floor = std::floor(at), rest = at - floor;
  if (rules.mode == GridSampleMode::linear) return {tap(floor, 1 - rest), tap(floor + 1, rest)};
  std::vector<Tap> taps;
  const std::array<double, 4> weights = cubic_weights(rest);
  for (std::size_t i = 0; i < weights.size(); ++i) taps.push_back(tap(floor - 1 + static_cast<double>(i), weights[i]));
  return taps;
}

/// The product of the axes' taps: offsets into one channel. `key` is that of the first axis' noise.
std::vector<Tap> joint_taps(const double* position, const Dims& sizes, const GridSampleRules& rules, const Noise* noise,
                            std::uint64_t key) {
  std::vector<Tap> joint = {{0, 1}};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<Tap> longer;
    // The grid lists coordinates from the innermost axis on.
    const std::vector<Tap> own =
        taps_of_grid_sample(position[sizes.size() - 1 - axis], sizes[axis], rules, noise, key + axis);
    for (const Tap& outer : joint) {
      for (const Tap& inner : own) {
        const bool inside = outer.from != no_source && inner.from != no_source;
        longer.push_back({inside ? outer.from * sizes[axis] + inner.from : no_source, outer.weight * inner.weight});
      }
    }
    joint = std::move(longer);
  }
  return joint;
}

template <class T>
T sampled(const T* channel, const std::vector<Tap>& taps, GridSampleMode mode) {
  if (mode == GridSampleMode::nearest) return taps.front().from == no_source ? T() : channel[taps.front().from];
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
    throw Fault("undefined-for-type", "strings and booleans cannot be interpolated");
  } else if constexpr (std::is_same_v<T, Complex>) {
    Complex sum = 0;
    for (const Tap& tap : taps)
      if (tap.from != no_source) sum += channel[tap.from] * tap.weight;
    return sum;
  } else {
    double sum = 0;
    for (const Tap& tap : taps)
      sum += (tap.from == no_source ? 0 : static_cast<double>(channel[tap.from])) * tap.weight;
    return from_real<T>(sum);
  }
}

void grid_sample(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& grid = context.input(1);
  const GridSampleRules rules = rules_of_grid_sample(context);
  if (grid.domain() != Domain::real) throw Fault("undefined-for-type", "the grid must be floating-point");
  require(x.rank() >= 3 && grid.rank() == x.rank(), "input and grid must have the same rank, 3 or more");
  require(grid.dim(0) == x.dim(0) && grid.dims().back() == x.rank() - 2, "the grid does not match the input");
  const Dims sizes(x.dims().begin() + 2, x.dims().end());
  require(rules.mode == GridSampleMode::nearest || sizes.size() <= max_interpolated_axes,
          "there are too many axes to interpolate");
  Dims dims(x.dims().begin(), x.dims().begin() + 2);
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  Tensor y = context.make(x.type(), dims);
  const std::int64_t channels = x.dim(1), area = element_count(sizes), axes = grid.dims().back();
  const std::int64_t points = element_count(std::span(dims).subspan(2));
  require(area > 0 || y.size() == 0, "there is nothing to sample");
  const double* const positions = grid.as<double>().data();
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    if (y.size() == 0) return;
    context.for_range(x.dim(0) * points, 1 << 10, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::vector<Tap> taps =
            joint_taps(positions + i * axes, sizes, rules, context.noise(), static_cast<std::uint64_t>(i * axes));
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t channel = i / points * channels + c;
          to[channel * points + i % points] = sampled(from + channel * area, taps, rules.mode);
        }
      }
    });
  });
  context.set_output(0, std::move(y));
}

}  // namespace

void register_grid_sample(KernelRegistry& registry) {
  registry.add("GridSample", all_versions(), grid_sample, {.noise = noise::interpolation});
  registry.add("com.microsoft", "GridSample", all_versions(), grid_sample, {.noise = noise::interpolation});
}

}  // namespace onnxkit::reference
