#include "libonnxkit/plan/scaled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

/// The greatest magnitudes of a channel; NaN counts as infinite.
struct Magnitudes {
  double before = 0, after = 0;

  void add(double number, double scaled) {
    before = std::max(before, std::abs(number));
    const double size = std::abs(scaled);
    after =
        size <= std::numeric_limits<double>::max() ? std::max(after, size) : std::numeric_limits<double>::infinity();
  }
};

/// Elements of a run: that at i has factors[i * stride] and belongs to greatest[i * stride].
struct Run {
  std::size_t at = 0, count = 0;
  const double* factors = nullptr;
  Magnitudes* greatest = nullptr;
  std::size_t stride = 0;
};

/// Neither side need be aligned.
void scale_floats(const std::byte* from, std::byte* to, const Run& run) {
  from += run.at * sizeof(float);
  to += run.at * sizeof(float);
  for (std::size_t i = 0; i < run.count; ++i) {
    float number = 0;
    std::memcpy(&number, from + i * sizeof(float), sizeof(float));
    const auto scaled = static_cast<float>(static_cast<double>(number) * run.factors[i * run.stride]);
    std::memcpy(to + i * sizeof(float), &scaled, sizeof(float));
    run.greatest[i * run.stride].add(static_cast<double>(number), static_cast<double>(scaled));
  }
}

void scale_numbers(ElementType type, std::span<const std::byte> from, std::span<std::byte> to, const Run& run) {
  const std::size_t width = static_cast<std::size_t>(storage_bits(type)) / 8;
  std::array<double, 256> numbers, scaled;
  for (std::size_t done = 0; done < run.count; done += numbers.size()) {
    const std::size_t count = std::min(numbers.size(), run.count - done), at = (run.at + done) * width;
    const auto some = std::span(scaled).first(count);
    decode(type, from.subspan(at, count * width), some);
    std::copy_n(some.begin(), count, numbers.begin());
    for (std::size_t i = 0; i < count; ++i) some[i] *= run.factors[(done + i) * run.stride];
    round_to(type, some);
    for (std::size_t i = 0; i < count; ++i) run.greatest[(done + i) * run.stride].add(numbers[i], some[i]);
    encode(type, some, to.subspan(at, count * width));
  }
}

/// Below it numbers of the type have fewer digits.
double least_normal(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return std::numeric_limits<double>::min();
    case ElementType::float16:
      return 0x1p-14;
    default:
      return static_cast<double>(std::numeric_limits<float>::min());
  }
}

}  // namespace

std::optional<Tensor> scaled_channels(const Tensor& content, std::span<const double> factors_of_all,
                                      const ChannelOrder& order) {
  std::vector<std::byte> bytes(content.bytes().size());
  const auto channels = static_cast<std::size_t>(order.channels), inner = static_cast<std::size_t>(order.inner);
  std::vector<Magnitudes> greatest(static_cast<std::size_t>(order.groups) * channels);
  const auto scale = [&](const Run& run) {
    if (content.type() == ElementType::float32) return scale_floats(content.bytes().data(), bytes.data(), run);
    scale_numbers(content.type(), content.bytes(), bytes, run);
  };
  std::size_t at = 0;
  for (std::size_t first = 0; first < greatest.size(); first += channels) {
    const double* const factors = factors_of_all.data() + first;
    for (std::int64_t row = 0; row < order.rows; ++row) {
      if (inner == 1) {
        scale({at, channels, factors, &greatest[first], 1});
        at += channels;
        continue;
      }
      for (std::size_t channel = 0; channel < channels; ++channel, at += inner)
        scale({at, inner, factors + channel, &greatest[first + channel], 0});
    }
  }
  const double least = least_normal(content.type());
  for (std::size_t i = 0; i < greatest.size(); ++i) {
    const auto [before, after] = greatest[i];
    const bool loses_digits = factors_of_all[i] != 0 && after < std::min(before, least);
    if (!std::isfinite(after) || loses_digits) return std::nullopt;
  }
  auto scaled = Tensor::from_bytes(content.type(), content.dims(), std::move(bytes));
  return scaled ? std::optional(*std::move(scaled)) : std::nullopt;
}

}  // namespace onnxkit::plan
