#include "libonnxkit/plan/scaled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::plan {
namespace {

/// Elements of a run, those at i with factors[i * stride].
struct Run {
  std::size_t at = 0, count = 0;
  const double* factors = nullptr;
  std::size_t stride = 0;
};

/// Whether all are finite. Neither side need be aligned.
bool scale_floats(const std::byte* from, std::byte* to, const Run& run) {
  from += run.at * sizeof(float);
  to += run.at * sizeof(float);
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < run.count; ++i) {
    float number = 0;
    std::memcpy(&number, from + i * sizeof(float), sizeof(float));
    number = static_cast<float>(static_cast<double>(number) * run.factors[i * run.stride]);
    std::memcpy(to + i * sizeof(float), &number, sizeof(float));
    largest = std::max(largest, std::bit_cast<std::uint32_t>(number) & 0x7fffffffU);
  }
  return largest < 0x7f800000U;  // the bits of infinity; those of NaN are larger
}

bool scale_numbers(ElementType type, std::span<const std::byte> from, std::span<std::byte> to, const Run& run) {
  const std::size_t width = static_cast<std::size_t>(storage_bits(type)) / 8;
  std::array<double, 256> numbers;
  bool is_finite = true;
  for (std::size_t done = 0; done < run.count; done += numbers.size()) {
    const auto some = std::span(numbers).first(std::min(numbers.size(), run.count - done));
    const std::size_t at = (run.at + done) * width;
    decode(type, from.subspan(at, some.size() * width), some);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] *= run.factors[(done + i) * run.stride];
    round_to(type, some);
    is_finite = is_finite && std::ranges::all_of(some, [](double number) { return std::isfinite(number); });
    encode(type, some, to.subspan(at, some.size() * width));
  }
  return is_finite;
}

}  // namespace

std::optional<Tensor> scaled_channels(const Tensor& content, std::span<const double> factors,
                                      const ChannelOrder& order) {
  std::vector<std::byte> bytes(content.bytes().size());
  const auto channels = static_cast<std::size_t>(order.channels), inner = static_cast<std::size_t>(order.inner);
  const auto scale = [&](const Run& run) {
    if (content.type() == ElementType::float32) return scale_floats(content.bytes().data(), bytes.data(), run);
    return scale_numbers(content.type(), content.bytes(), bytes, run);
  };
  bool is_finite = true;
  std::size_t at = 0;
  for (std::int64_t group = 0; group < order.groups; ++group) {
    const double* const of_group = factors.data() + static_cast<std::size_t>(group) * channels;
    for (std::int64_t row = 0; row < order.rows && is_finite; ++row) {
      if (inner == 1) {
        is_finite = scale({at, channels, of_group, 1});
        at += channels;
        continue;
      }
      for (std::size_t channel = 0; channel < channels; ++channel, at += inner)
        is_finite = scale({at, inner, of_group + channel, 0}) && is_finite;
    }
  }
  if (!is_finite) return std::nullopt;
  auto scaled = Tensor::from_bytes(content.type(), content.dims(), std::move(bytes));
  return scaled ? std::optional(*std::move(scaled)) : std::nullopt;
}

}  // namespace onnxkit::plan
