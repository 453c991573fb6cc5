// MaxRoiPool, RoiAlign: regions of a feature map brought to one size. NonMaxSuppression: boxes that overlap a better one are dropped.
// RoiAlign 10 samples without the shift by half a pixel that 16 brings (as coordinate_transformation_mode) and makes the default.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels/axes.h"
#include "reference/kernels/order.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// Output bins of a region.
struct OutputBins {
  std::int64_t height, width;
};

void require_map(const Tensor& x) {
  require(x.rank() == 4, "the feature map must have 4 axes");
  require(x.dim(2) > 0 && x.dim(3) > 0, "the feature map is empty");
}

/// A position in the map; Fault when it is no finite number that an index can be near to.
double position(double x) {
  require(std::abs(x) < 1e15, "a region is out of range");
  return x;
}

/// The positions of one axis that a bin of a region takes in, its end excluded.
struct Range {
  std::int64_t first, last;
};

/// Both ends of the region are rounded and belong to it; bins overlap where they do not divide evenly.
std::vector<Range> pooled_ranges(double start, double end, float scale, std::int64_t bins, std::int64_t size) {
  const double first = std::round(position(start * scale)), last = std::round(position(end * scale));
  const double length = std::max(last - first + 1, 1.0) / static_cast<double>(bins);
  std::vector<Range> ranges;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const auto at = [&](double offset) {
      return static_cast<std::int64_t>(std::clamp(first + offset, 0.0, static_cast<double>(size)));
    };
    ranges.push_back(
        {at(std::floor(static_cast<double>(bin) * length)), at(std::ceil(static_cast<double>(bin + 1) * length))});
  }
  return ranges;
}

std::int64_t batch_of(double index, const Tensor& x) {
  require(index >= 0 && index < static_cast<double>(x.dim(0)), "the batch index of a region is out of range");
  return static_cast<std::int64_t>(index);
}

/// A bin without positions is 0.
void max_roi_pool(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& rois = context.input(1);
  require_map(x);
  require(rois.rank() == 2 && rois.dim(1) == 5, "a region must be a batch index and four coordinates");
  const auto shape = context.integers("pooled_shape").value_or(Dims());
  require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0, "pooled_shape must be two positive sizes");
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  Tensor y = context.make(x.type(), {rois.dim(0), channels, shape[0], shape[1]});
  const std::span<const double> from = x.as<double>(), regions = rois.as<double>();
  const std::span<double> to = y.write<double>();
  const float scale = context.real("spatial_scale", 1);
  Pace pace(context);
  for (std::size_t r = 0, at = 0; at < to.size(); ++r) {
    const std::span<const double> region = regions.subspan(5 * r, 5);
    const auto rows = pooled_ranges(region[2], region[4], scale, shape[0], height);
    const auto columns = pooled_ranges(region[1], region[3], scale, shape[1], width);
    const std::int64_t batch = batch_of(region[0], x);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double* const channel = from.data() + (batch * channels + c) * height * width;
      for (const Range& row : rows) {
        for (const Range& column : columns) {
          const bool empty = row.first >= row.last || column.first >= column.last;
          double most = empty ? 0 : -std::numeric_limits<double>::infinity();
          for (std::int64_t i = row.first; i < row.last; ++i) {
            pace.advance(column.last - column.first + 8);
            for (std::int64_t k = column.first; k < column.last; ++k) most = greater_of(most, channel[i * width + k]);
          }
          to[at++] = most;
        }
      }
    }
  }
  context.set_output(0, std::move(y));
}

/// Linear interpolation along one axis: two positions and the weight of the second; outside the map nothing counts.
struct Sample {
  std::int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

bool is_outside(double at, std::int64_t size) { return at < -1 || at > static_cast<double>(size); }

Sample sample_at(double at, std::int64_t size) {
  at = std::clamp(at, 0.0, static_cast<double>(size - 1));
  const auto low = static_cast<std::int64_t>(at);
  const double rest = at - static_cast<double>(low);
  return {low, std::min(low + 1, size - 1), 1 - rest, rest};
}

/// Samples of all bins of a region along one axis, `each` of them to a bin.
struct Samples {
  std::int64_t each;
  std::vector<Sample> all;
};

constexpr std::int64_t most_samples = 1 << 20;

/// Errors of the positions along one axis of one region: a bin's is that of all its samples.
struct PositionNoise {
  const Noise* noise;  ///< may be null
  std::uint64_t axis;  ///< of all regions

  double of_bin(double start, std::int64_t bin) const { return error(start, most_samples + bin); }
  double of_sample(double at, std::size_t sample) const { return error(at, static_cast<std::int64_t>(sample)); }

 private:
  double error(double at, std::int64_t index) const {
    const std::uint64_t key = axis * 2 * most_samples + static_cast<std::uint64_t>(index);
    return noise ? noise->position(at, key) - at : 0;
  }
};

/// Which samples lie outside is decided by exact positions.
Samples samples_of(double start, double end, bool shifted, std::int64_t ratio, std::int64_t bins, std::int64_t size,
                   const PositionNoise& noise) {
  double length = position(end) - position(start);
  if (!shifted) length = std::max(length, 1.0);  // as the first version did with malformed regions
  const double bin = length / static_cast<double>(bins);
  Samples samples{.each = ratio > 0 ? ratio : static_cast<std::int64_t>(std::max(std::ceil(bin), 0.0)), .all = {}};
  require(samples.each <= most_samples / bins, "a region requires too many samples");
  for (std::int64_t c = 0; c < bins; ++c) {
    const double error = noise.of_bin(start + static_cast<double>(c) * bin, c);
    for (std::int64_t i = 0; i < samples.each; ++i) {
      const double step = (static_cast<double>(i) + 0.5) / static_cast<double>(samples.each);
      const double at = start + (static_cast<double>(c) + step) * bin;
      samples.all.push_back(
          is_outside(at, size) ? Sample() : sample_at(at + error + noise.of_sample(at, samples.all.size()), size));
    }
  }
  return samples;
}

/// The four weighted neighbours of a sample are added, or in mode max their greatest counts: the official cases compare weighted neighbours,
/// not interpolated values.
double pooled_regions(Pace& pace, const double* channel, std::int64_t width, std::span<const Sample> rows,
                      std::span<const Sample> columns, bool is_max) {
  double total = 0;
  bool first = true;
  for (const Sample& row : rows) {
    pace.advance(8 * static_cast<std::int64_t>(columns.size()));
    for (const Sample& column : columns) {
      const double corners[] = {row.low_weight * column.low_weight * channel[row.low * width + column.low],
                                row.low_weight * column.high_weight * channel[row.low * width + column.high],
                                row.high_weight * column.low_weight * channel[row.high * width + column.low],
                                row.high_weight * column.high_weight * channel[row.high * width + column.high]};
      for (const double corner : corners) {
        if (!is_max)
          total += corner;
        else if (first || total < corner || corner != corner)  // NaN is the greatest
          total = corner;
        first = false;
      }
    }
  }
  const auto count = static_cast<double>(std::max<std::size_t>(rows.size() * columns.size(), 1));
  return is_max ? total : total / count;
}

void roi_align(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& rois = context.input(1);
  require_map(x);
  require(rois.rank() == 2 && rois.dim(1) == 4, "a region must be four coordinates");
  const std::vector<std::int64_t> batches = context.input(2).integers();
  require(static_cast<std::int64_t>(batches.size()) == rois.dim(0), "there must be one batch index per region");
  const OutputBins bins{context.integer("output_height", 1), context.integer("output_width", 1)};
  require(bins.height > 0 && bins.width > 0, "the output sizes must be positive");
  const std::int64_t ratio = context.integer("sampling_ratio");
  require(ratio >= 0, "the sampling ratio is negative");
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const bool shifted = context.since() >= 16 && context.string("coordinate_transformation_mode") != "output_half_pixel";
  const bool is_max = context.string("mode") == "max";
  const double scale = context.real("spatial_scale", 1), shift = shifted ? 0.5 : 0;

  Tensor y = context.make(x.type(), {rois.dim(0), channels, bins.height, bins.width});
  const double* const from = x.as<double>().data();
  const std::span<const double> regions = rois.as<double>();
  double* const to = y.write<double>().data();
  context.for_range(rois.dim(0), 1, [&](std::int64_t first, std::int64_t last) {
    Pace pace(context);
    for (std::int64_t r = first; r < last; ++r) {
      const auto at = [&](std::int64_t i) { return regions[static_cast<std::size_t>(4 * r + i)] * scale - shift; };
      const auto axis = 2 * static_cast<std::uint64_t>(r);
      const Samples columns = samples_of(at(0), at(2), shifted, ratio, bins.width, width, {context.noise(), axis});
      const Samples rows = samples_of(at(1), at(3), shifted, ratio, bins.height, height, {context.noise(), axis + 1});
      const std::int64_t batch = batch_of(static_cast<double>(batches[static_cast<std::size_t>(r)]), x);
      for (std::int64_t c = 0; c < channels; ++c) {
        const double* const channel = from + (batch * channels + c) * height * width;
        double* out = to + (r * channels + c) * bins.height * bins.width;
        for (std::int64_t i = 0; i < bins.height; ++i) {
          for (std::int64_t k = 0; k < bins.width; ++k) {
            const auto part = [](const Samples& samples, std::int64_t bin) {
              return std::span(samples.all)
                  .subspan(static_cast<std::size_t>(bin * samples.each), static_cast<std::size_t>(samples.each));
            };
            *out++ = pooled_regions(pace, channel, width, part(rows, i), part(columns, k), is_max);
          }
        }
      }
    }
  });
  context.set_output(0, std::move(y));
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

/// Two corners, in any order, or the centre and the sizes.
Box box_of(const double* given, bool by_center) {
  if (by_center) {
    const double x = given[0], y = given[1], half_width = given[2] / 2, half_height = given[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  return {std::min(given[0], given[2]), std::min(given[1], given[3]), std::max(given[0], given[2]),
          std::max(given[1], given[3])};
}

/// Intersection over union; 0 when a box has no area.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return 0;
  const double common = height * width;
  return common / (a.area() + b.area() - common);
}

struct Limits {
  std::int64_t count = 0;
  double overlap = 0;
  std::optional<double> score;
};

/// Boxes of one class, best score first; of equal scores the box that comes first.
std::vector<std::int64_t> chosen_boxes(Pace& pace, std::span<const Box> boxes, const double* scores,
                                       const Limits& limits) {
  std::vector<std::int64_t> order, chosen;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(boxes.size()); ++i) {
    if (!limits.score || scores[i] > *limits.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return precedes(-scores[a], -scores[b]); });
  for (const std::int64_t i : order) {
    if (static_cast<std::int64_t>(chosen.size()) >= limits.count) break;
    pace.advance(static_cast<std::int64_t>(chosen.size()) + 1);
    const bool suppressed = std::any_of(chosen.begin(), chosen.end(), [&](std::int64_t k) {
      return overlap(boxes[static_cast<std::size_t>(i)], boxes[static_cast<std::size_t>(k)]) > limits.overlap;
    });
    if (!suppressed) chosen.push_back(i);
  }
  return chosen;
}

void non_max_suppression(KernelContext& context) {
  const Tensor& boxes = context.input(0);
  const Tensor& scores = context.input(1);
  require(boxes.rank() == 3 && boxes.dim(2) == 4, "boxes must be [batches, boxes, 4]");
  require(scores.rank() == 3 && scores.dim(0) == boxes.dim(0) && scores.dim(2) == boxes.dim(1),
          "scores must be [batches, classes, boxes]");
  Limits limits;
  if (const Tensor* given = context.find_input(2)) limits.count = given->integer();
  if (const Tensor* given = context.find_input(3)) limits.overlap = given->real();
  if (const Tensor* given = context.find_input(4)) limits.score = given->real();
  require(0 <= limits.overlap && limits.overlap <= 1, "iou_threshold must be in [0, 1]");
  const bool by_center = context.integer("center_point_box") != 0;
  const std::int64_t count = boxes.dim(1), classes = scores.dim(1);
  Pace pace(context);
  std::vector<std::int64_t> rows;
  for (std::int64_t batch = 0; batch < boxes.dim(0); ++batch) {
    std::vector<Box> all;
    for (std::int64_t i = 0; i < count; ++i)
      all.push_back(box_of(boxes.as<double>().data() + (batch * count + i) * 4, by_center));
    for (std::int64_t c = 0; c < classes; ++c) {
      const double* const own = scores.as<double>().data() + (batch * classes + c) * count;
      for (const std::int64_t i : chosen_boxes(pace, all, own, limits)) rows.insert(rows.end(), {batch, c, i});
    }
  }
  Tensor y = context.make(ElementType::int64, {static_cast<std::int64_t>(rows.size()) / 3, 3});
  std::copy(rows.begin(), rows.end(), y.write<std::int64_t>().begin());
  context.set_output(0, std::move(y));
}

}  // namespace

void register_regions(KernelRegistry& registry) {
  registry.add("MaxRoiPool", all_versions(), max_roi_pool, {.noise = noise::moved});
  registry.add("RoiAlign", all_versions(), roi_align, {.noise = noise::interpolation});
  registry.add("NonMaxSuppression", all_versions(), non_max_suppression);
}

}  // namespace onnxkit::reference
