#include "libonnxkit/inputs/picture_input.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::inputs {
namespace {

/// What each result of a resize takes from the source: weights of the pixels from `first` on.
struct Taps {
  std::size_t first = 0;
  std::vector<double> weights;
};

/// A triangle filter that widens when the picture shrinks, so that no pixel is skipped.
std::vector<Taps> resize_taps(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(centre - support)));
    const auto high = std::min(from, static_cast<std::size_t>(std::ceil(centre + support)) + 1);
    all[i].first = low;
    double sum = 0;
    for (std::size_t k = low; k < high; ++k) {
      all[i].weights.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(k) + 0.5 - centre) / support));
      sum += all[i].weights.back();
    }
    for (double& weight : all[i].weights) weight /= sum;
  }
  return all;
}

/// Height, width, channels, 0 to 255.
struct Pixels {
  std::size_t height, width, channels;
  std::vector<double> values;

  double& at(std::size_t y, std::size_t x, std::size_t c) { return values[(y * width + x) * channels + c]; }
  double at(std::size_t y, std::size_t x, std::size_t c) const { return values[(y * width + x) * channels + c]; }
};

Pixels blank(std::size_t height, std::size_t width, std::size_t channels) {
  return {height, width, channels, std::vector<double>(height * width * channels)};
}

Pixels resized(const Pixels& picture, std::size_t height, std::size_t width) {
  Pixels wide = blank(picture.height, width, picture.channels);
  const std::vector<Taps> columns = resize_taps(picture.width, width);
  for (std::size_t y = 0; y < wide.height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < wide.channels; ++c) {
        for (std::size_t k = 0; k < columns[x].weights.size(); ++k)
          wide.at(y, x, c) += columns[x].weights[k] * picture.at(y, columns[x].first + k, c);
      }
    }
  }
  Pixels out = blank(height, width, picture.channels);
  const std::vector<Taps> rows = resize_taps(picture.height, height);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t k = 0; k < rows[y].weights.size(); ++k) {
      for (std::size_t i = 0; i < width * out.channels; ++i)
        out.values[y * width * out.channels + i] +=
            rows[y].weights[k] * wide.values[(rows[y].first + k) * width * out.channels + i];
    }
  }
  return out;
}

/// RGB to the number of channels that the model wants.
Pixels with_channels(const wire::Picture& picture, std::size_t channels) {
  Pixels out = blank(static_cast<std::size_t>(picture.height), static_cast<std::size_t>(picture.width), channels);
  for (std::size_t i = 0; i < out.height * out.width; ++i) {
    const std::uint8_t* rgb = &picture.rgb[3 * i];
    if (channels == 1)
      out.values[i] = wire::luma(rgb[0], rgb[1], rgb[2]);
    else
      std::copy_n(rgb, 3, &out.values[3 * i]);
  }
  return out;
}

double per_channel(const std::vector<double>& values, std::size_t channel, double fallback) {
  return values.empty() ? fallback : values.size() == 1 ? values[0] : values[channel];
}

/// Of gray, color, or color with opacity: too few for the size of an image.
bool are_channels(std::optional<std::int64_t> size) { return size == 1 || size == 3 || size == 4; }

Result<void> check_options(const ImageOptions& options, std::int64_t height, std::int64_t width,
                           std::int64_t channels) {
  constexpr std::int64_t largest = 1 << 16;
  if (height < 1 || width < 1 || height > largest || width > largest)
    return make_error("input-shape", fmt::format("an image cannot be {} x {}", height, width));
  for (const auto* list : {&options.mean, &options.std}) {
    if (list->size() > 1 && list->size() != static_cast<std::size_t>(channels))
      return make_error("usage", fmt::format("{} numbers of mean or std for {} channels", list->size(), channels));
  }
  const auto is_of_bytes = [](double number) { return number > 1; };
  if (options.scale && std::any_of(options.mean.begin(), options.mean.end(), is_of_bytes)) {
    Error error =
        make_error("usage", "the mean is that of pixels from 0 to 255, but pixels are scaled to 0..1 before it");
    error.diagnostic.help = "divide mean and std by 255, or keep the pixels from 0 to 255 with --no-scale";
    return error;
  }
  if (std::any_of(options.std.begin(), options.std.end(), [](double x) { return !(x > 0) || std::isinf(x); }))
    return make_error("usage", "the divisor must be positive and finite");
  return {};
}

}  // namespace

Result<Tensor> picture_tensor(const wire::Picture& picture, const ir::ValueInfo& input, const ImageOptions& options) {
  const auto type = input.type ? static_cast<ElementType>(input.type->elem_type.value_or(0)) : ElementType::undefined;
  const bool has_shape = input.type && input.type->shape;
  const std::size_t rank = has_shape ? input.type->shape->dims.size() : 4;
  if ((!is_floating(type) && type != ElementType::uint8) || (rank != 4 && rank != 3))
    return make_error("input-type",
                      "an image requires a floating-point or byte input with four axes, or three without a batch");
  const auto declared = [&](std::size_t axis) {
    return has_shape ? input.type->shape->dims[axis + rank - 3].size() : std::nullopt;
  };
  const bool channels_last = options.channels_last.value_or(are_channels(declared(2)) && !are_channels(declared(0)));
  const std::size_t row_axis = channels_last ? 0 : 1;
  const std::int64_t channels = declared(channels_last ? 2 : 0).value_or(3);
  if (channels != 1 && channels != 3)
    return make_error("input-shape", fmt::format("an image has 1 or 3 channels, but the input has {}", channels));
  const std::int64_t height = options.height.value_or(declared(row_axis).value_or(picture.height));
  const std::int64_t width = options.width.value_or(declared(row_axis + 1).value_or(picture.width));
  if (auto sound = check_options(options, height, width, channels); !sound) return sound.error();

  const Pixels pixels = resized(with_channels(picture, static_cast<std::size_t>(channels)),
                                static_cast<std::size_t>(height), static_cast<std::size_t>(width));
  const bool is_bytes = type == ElementType::uint8;
  std::vector<double> values(pixels.values.size());
  for (std::size_t y = 0; y < pixels.height; ++y) {
    for (std::size_t x = 0; x < pixels.width; ++x) {
      for (std::size_t c = 0; c < pixels.channels; ++c) {
        const std::size_t at =
            channels_last ? (y * pixels.width + x) * pixels.channels + c : (c * pixels.height + y) * pixels.width + x;
        const double raw = pixels.at(y, x, c);
        values[at] = is_bytes ? std::clamp(std::nearbyint(raw), 0.0, 255.0)
                              : ((options.scale ? raw / 255 : raw) - per_channel(options.mean, c, 0)) /
                                    per_channel(options.std, c, 1);
      }
    }
  }
  std::vector<std::int64_t> dims =
      channels_last ? std::vector{height, width, channels} : std::vector{channels, height, width};
  if (rank == 4) dims.insert(dims.begin(), 1);
  std::vector<std::byte> bytes((values.size() * static_cast<std::size_t>(storage_bits(type)) + 7) / 8);
  if (is_bytes) {
    const std::vector<std::uint64_t> whole(values.begin(), values.end());
    encode(type, whole, bytes);
  } else {
    encode(type, values, bytes);
  }
  return Tensor::from_bytes(type, std::move(dims), std::move(bytes));
}

}  // namespace onnxkit::inputs
