#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "libonnxkit/cpu/kernels/integer.h"

namespace onnxkit::tests::cpu_integer {

namespace {

using std::int64_t;

struct Case {
  int64_t images, height, width, channels, filters, kernel, stride, dilation, pad;
  bool is_depthwise;
};
constexpr Case cases[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 0, false},      {1, 1, 9, 7, 5, 1, 1, 1, 0, false},
    {1, 1, 70, 64, 130, 1, 1, 1, 0, false},  {2, 5, 6, 3, 20, 3, 2, 1, 1, false},
    {1, 8, 8, 36, 70, 3, 1, 1, 1, false},    {1, 9, 7, 5, 33, 3, 1, 2, 2, false},
    {1, 14, 14, 8, 16, 1, 2, 1, 0, false},   {1, 20, 20, 4, 64, 5, 1, 1, 2, false},
    {1, 1, 300, 1030, 3, 1, 1, 1, 0, false}, {1, 7, 7, 1, 1, 3, 1, 1, 1, true},
    {2, 7, 6, 19, 19, 3, 2, 1, 1, true},     {1, 9, 9, 80, 80, 3, 1, 2, 2, true},
    {1, 12, 12, 147, 147, 5, 1, 1, 2, true},
};

struct Data {
  cpu::IntegerConvolution convolution;
  std::vector<std::uint8_t> image;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias, weight_sums;
  std::int32_t zero = 0;

  Data(const Case& at, bool is_signed, unsigned seed) {
    const int64_t reach = at.dilation * (at.kernel - 1) + 1;
    const auto out = [&](int64_t size, bool is_line) {
      return is_line ? int64_t{1} : (size + 2 * at.pad - reach) / at.stride + 1;
    };
    cpu::Window& window = convolution.window;
    window = {.images = at.images, .height = at.height, .width = at.width, .channels = at.channels};
    window.out_height = out(at.height, false);
    window.out_width = out(at.width, false);
    window.kernel_height = window.kernel_width = at.kernel;
    window.stride_height = window.stride_width = at.stride;
    window.dilation_height = window.dilation_width = at.dilation;
    window.pad_top = window.pad_left = at.pad;
    window.in_pixel_stride = at.channels;
    window.out_pixel_stride = at.filters;
    convolution.out_channels = at.filters;
    convolution.is_depthwise = at.is_depthwise;
    convolution.is_signed = is_signed;
    std::mt19937 random(seed);
    image.resize(static_cast<std::size_t>(at.images * at.height * at.width * at.channels));
    for (auto& byte : image) byte = static_cast<std::uint8_t>(random());
    const int64_t depth = at.kernel * at.kernel * (at.is_depthwise ? 1 : at.channels);
    weights.resize(static_cast<std::size_t>(at.filters * depth));
    for (auto& weight : weights) weight = static_cast<std::int8_t>(random());
    zero = is_signed ? static_cast<std::int32_t>(random() % 256) - 128 : static_cast<std::int32_t>(random() % 256);
    for (int64_t m = 0; m < at.filters; ++m) {
      bias.push_back(static_cast<std::int32_t>(random() % 20001) - 10000);
      std::int32_t sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += weights[static_cast<std::size_t>(m * depth + k)];
      weight_sums.push_back(sum);
    }
  }

  std::int32_t sum(int64_t image_at, int64_t y, int64_t x, int64_t m) const {
    const cpu::Window& w = convolution.window;
    const int64_t channels = convolution.is_depthwise ? 1 : w.channels, taps = w.kernel_height * w.kernel_width;
    std::int32_t all = bias[static_cast<std::size_t>(m)];
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at_y = y * w.stride_height - w.pad_top + t / w.kernel_width * w.dilation_height;
      const int64_t at_x = x * w.stride_width - w.pad_left + t % w.kernel_width * w.dilation_width;
      if (at_y < 0 || at_y >= w.height || at_x < 0 || at_x >= w.width) continue;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t pixel = (image_at * w.height + at_y) * w.width + at_x;
        const std::uint8_t byte =
            image[static_cast<std::size_t>(pixel * w.channels + (convolution.is_depthwise ? m : c))];
        const std::int32_t number = convolution.is_signed ? static_cast<std::int8_t>(byte) : byte;
        all += (number - zero) * weights[static_cast<std::size_t>((m * channels + c) * taps + t)];
      }
    }
    return all;
  }

  /// By [pixel][filter].
  std::vector<std::int32_t> expected() const {
    const cpu::Window& w = convolution.window;
    std::vector<std::int32_t> sums;
    for (int64_t i = 0; i < w.images * w.out_height * w.out_width; ++i) {
      for (int64_t m = 0; m < convolution.out_channels; ++m)
        sums.push_back(sum(i / (w.out_height * w.out_width), i / w.out_width % w.out_height, i % w.out_width, m));
    }
    return sums;
  }

  void run(ThreadPool& threads, cpu::IntegerResult result, const cpu::IntegerIsa& isa) const {
    std::vector<std::int32_t> packed(static_cast<std::size_t>(cpu::packed_integer_words(convolution, isa)));
    cpu::pack_integers(threads, packed.data(), weights.data(), convolution, isa);
    const std::int32_t held = cpu::held_zero_point(convolution, zero, isa);
    std::vector<std::int32_t> addend = bias;
    for (std::size_t m = 0; m < addend.size(); ++m) addend[m] -= held * weight_sums[m];
    result.addend = addend.data();
    cpu::convolve_integers(threads, convolution, image.data(), held, packed.data(), result, isa);
  }
};

}  // namespace

TEST_CASE("cpu: convolutions of integers give exact sums on each instruction set") {
  ThreadPool threads(2);
  for (const cpu::IntegerIsa* isa : cpu::usable_integer_isas()) {
    CAPTURE(cpu::integer_isa_name(*isa));
    for (unsigned at = 0; at < std::size(cases); ++at) {
      for (const bool is_signed : {false, true}) {
        CAPTURE(at);
        CAPTURE(is_signed);
        const Data data(cases[at], is_signed, at);
        const auto expected = data.expected();
        std::vector<std::int32_t> sums(expected.size(), -1);
        data.run(threads, {.sums = sums.data()}, *isa);
        CHECK(sums == expected);
      }
    }
  }
}

TEST_CASE("cpu: sums of integers are requantized as in float64, ties to even") {
  ThreadPool threads(2);
  for (const cpu::IntegerIsa* isa : cpu::usable_integer_isas()) {
    for (const double divisor : {0.5, 1.7, 0.25}) {  // of powers of two many quotients lie in the middle
      for (unsigned at = 0; at < std::size(cases); ++at) {
        const Data data(cases[at], false, at);
        const auto expected = data.expected();
        const auto filters = static_cast<std::size_t>(data.convolution.out_channels);
        std::vector<double> factors(filters);
        std::vector<float> quotients(filters);
        for (std::size_t m = 0; m < filters; ++m) {
          factors[m] = m % 2 == 0 ? 1.0 / 2048 : 0.00031;
          quotients[m] = static_cast<float>(factors[m] / divisor);
        }
        std::vector<std::uint8_t> bytes(expected.size(), 99);
        data.run(threads,
                 {.bytes = bytes.data(),
                  .factors = factors.data(),
                  .divisor = divisor,
                  .zero = 3,
                  .lower = -128,
                  .upper = 127,
                  .quotients = quotients.data()},
                 *isa);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          const double whole = std::nearbyint(expected[i] * factors[i % filters] / divisor) + 3;
          wrong += static_cast<std::int8_t>(bytes[i]) != static_cast<int>(std::min(std::max(whole, -128.0), 127.0));
        }
        CAPTURE(cpu::integer_isa_name(*isa));
        CAPTURE(at);
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace onnxkit::tests::cpu_integer
