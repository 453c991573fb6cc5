#include "libonnxkit/plan/scaled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Elements of a run: that at i has factors[i * stride], and greatest[i * stride] becomes no less than its magnitude; that of NaN is infinite.
struct Run {
  std::size_t at = 0, count = 0;
  const double* factors = nullptr;
  double* greatest = nullptr;
  std::size_t stride = 0;
};

void note_magnitude(double& greatest, double number) {
  const double size = std::abs(number);
  greatest = size < infinite ? std::max(greatest, size) : infinite;
}

/// Neither side need be aligned.
void scale_floats(const std::byte* from, std::byte* to, const Run& run) {
  from += run.at * sizeof(float);
  to += run.at * sizeof(float);
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < run.count; ++i) {
    float number = 0;
    std::memcpy(&number, from + i * sizeof(float), sizeof(float));
    number = static_cast<float>(static_cast<double>(number) * run.factors[i * run.stride]);
    std::memcpy(to + i * sizeof(float), &number, sizeof(float));
    if (run.stride != 0) note_magnitude(run.greatest[i], static_cast<double>(number));
    largest = std::max(largest, std::bit_cast<std::uint32_t>(number) & 0x7fffffffU);
  }
  if (run.stride == 0) note_magnitude(*run.greatest, static_cast<double>(std::bit_cast<float>(largest)));
}

void scale_numbers(ElementType type, std::span<const std::byte> from, std::span<std::byte> to, const Run& run) {
  const std::size_t width = static_cast<std::size_t>(storage_bits(type)) / 8;
  std::array<double, 256> scaled;
  for (std::size_t done = 0; done < run.count; done += scaled.size()) {
    const std::size_t count = std::min(scaled.size(), run.count - done), at = (run.at + done) * width;
    const auto some = std::span(scaled).first(count);
    decode(type, from.subspan(at, count * width), some);
    for (std::size_t i = 0; i < count; ++i) some[i] *= run.factors[(done + i) * run.stride];
    round_to(type, some);
    for (std::size_t i = 0; i < count; ++i) note_magnitude(run.greatest[(done + i) * run.stride], some[i]);
    encode(type, some, to.subspan(at, count * width));
  }
}

/// Below it numbers of the type, which has 32 bits or more, have fewer digits.
double least_normal(ElementType type) {
  return type == ElementType::float64 ? std::numeric_limits<double>::min()
                                      : static_cast<double>(std::numeric_limits<float>::min());
}

/// The greatest magnitude in a channel of a group, whose number counts through all groups.
double greatest_in(const Tensor& content, const ChannelOrder& order, std::size_t channel) {
  const auto channels = static_cast<std::size_t>(order.channels), inner = static_cast<std::size_t>(order.inner);
  const std::size_t width = static_cast<std::size_t>(storage_bits(content.type())) / 8,
                    rows = static_cast<std::size_t>(order.rows);
  std::vector<double> numbers(inner);
  double greatest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t run = (channel / channels * rows + row) * channels + channel % channels;
    decode(content.type(), content.bytes().subspan(run * inner * width, inner * width), std::span(numbers));
    for (const double number : numbers) note_magnitude(greatest, number);
  }
  return greatest;
}

}  // namespace

std::optional<Tensor> scaled_channels(const Tensor& content, std::span<const double> factors_of_all,
                                      const ChannelOrder& order) {
  std::vector<std::byte> bytes(content.bytes().size());
  const auto channels = static_cast<std::size_t>(order.channels), inner = static_cast<std::size_t>(order.inner);
  std::vector<double> greatest(static_cast<std::size_t>(order.groups) * channels);
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
    if (greatest[i] == infinite) return std::nullopt;
    const bool may_lose_digits = factors_of_all[i] != 0 && greatest[i] < least;
    if (may_lose_digits && greatest[i] < greatest_in(content, order, i)) return std::nullopt;
  }
  auto scaled = Tensor::from_bytes(content.type(), content.dims(), std::move(bytes));
  return scaled ? std::optional(*std::move(scaled)) : std::nullopt;
}

}  // namespace onnxkit::plan
