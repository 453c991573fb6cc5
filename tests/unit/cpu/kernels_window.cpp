#include <algorithm>

#include "tests/unit/cpu/kernels_support.h"
#include "tests/unit/sample.h"

namespace onnxkit::tests::cpu_window {

using namespace cpu_kernels;

namespace {

struct Case {
  int64_t height, width, channels, out_channels, groups;
  int64_t kernel_height, kernel_width, stride, dilation, pad;
  int64_t images = 1;
};
constexpr Case cases[] = {{9, 11, 3, 5, 1, 3, 3, 1, 1, 1},
                          {9, 11, 3, 70, 1, 7, 7, 2, 1, 3, 2},
                          {1, 50, 7, 9, 1, 1, 5, 2, 1, 2},
                          {6, 5, 16, 33, 1, 3, 3, 1, 1, 1, 2},
                          {7, 7, 40, 64, 1, 3, 3, 2, 1, 1},
                          {8, 8, 500, 12, 1, 3, 2, 1, 2, 2},
                          {5, 5, 64, 130, 1, 1, 1, 1, 1, 0},
                          {6, 6, 32, 16, 1, 1, 1, 2, 1, 0},
                          {20, 20, 17, 5, 1, 2, 3, 1, 3, 4},
                          {8, 7, 24, 24, 24, 3, 3, 1, 1, 1},
                          {8, 9, 70, 70, 70, 5, 5, 2, 1, 2, 2},
                          {9, 9, 600, 600, 600, 3, 3, 1, 2, 2},
                          {12, 12, 5, 5, 5, 9, 9, 1, 1, 4},
                          {8, 8, 12, 24, 12, 3, 3, 1, 1, 1},
                          {6, 6, 32, 64, 8, 3, 3, 1, 1, 1},
                          {6, 6, 64, 32, 32, 3, 3, 1, 1, 1},
                          {7, 7, 96, 96, 3, 3, 3, 1, 1, 1, 2},
                          {4, 4, 30, 30, 2, 1, 1, 1, 1, 0},
                          {12, 13, 40, 40, 40, 3, 3, 2, 1, 1},
                          {11, 14, 20, 20, 20, 5, 5, 1, 1, 2},
                          {9, 10, 36, 36, 36, 3, 3, 1, 1, 3},
                          {1, 40, 50, 50, 50, 1, 3, 1, 1, 1},
                          {9, 9, 18, 18, 18, 3, 3, 2, 1, 0},
                          {12, 30, 9, 20, 1, 3, 90, 1, 1, 50},
                          {3, 3, 4, 4, 1, 3, 3, 1, 1, 5},
                          {25, 25, 2, 3, 1, 1, 1, 3, 1, 1},
                          {30, 40, 70, 70, 70, 29, 36, 1, 1, 1},
                          // Few output channels.
                          {9, 11, 40, 1, 1, 3, 3, 1, 1, 1},
                          {7, 9, 35, 2, 1, 3, 3, 2, 1, 1, 2},
                          {9, 10, 3, 2, 1, 7, 7, 1, 1, 3},
                          {9, 10, 5, 3, 1, 5, 5, 1, 2, 4},
                          {6, 7, 420, 4, 1, 3, 3, 1, 1, 1},
                          {5, 6, 70, 8, 1, 1, 1, 1, 1, 0},
                          {6, 6, 66, 6, 2, 3, 3, 1, 1, 1},
                          {6, 6, 66, 2, 2, 3, 3, 1, 1, 1},
                          // Depthwise, with all numbers of taps that are multiplied at a time, dilated and not.
                          {9, 20, 40, 40, 40, 7, 7, 1, 1, 3},
                          {9, 21, 37, 37, 37, 7, 7, 2, 1, 3, 2},
                          {12, 19, 20, 20, 20, 4, 4, 1, 1, 2},
                          {12, 19, 20, 20, 20, 4, 6, 2, 1, 2},
                          {15, 18, 33, 33, 33, 11, 11, 1, 1, 5},
                          {14, 15, 20, 20, 20, 3, 8, 1, 1, 4},
                          {13, 26, 20, 20, 20, 3, 3, 1, 6, 6},
                          {13, 26, 20, 20, 20, 3, 5, 2, 2, 2},
                          {13, 26, 20, 20, 20, 3, 3, 2, 3, 3},
                          {13, 26, 20, 20, 20, 3, 3, 2, 4, 4},
                          {7, 7, 520, 520, 520, 7, 7, 1, 1, 3},
                          {3, 3, 20, 20, 20, 7, 7, 1, 1, 3},
                          {4, 9, 600, 600, 600, 1, 10, 1, 1, 1},
                          {10, 4, 20, 20, 20, 5, 5, 1, 1, 9},
                          {7, 7, 20, 20, 20, 7, 7, 1, 1, 0}};

cpu::Window window_of(const Case& c) {
  const auto out = [&](int64_t size, int64_t kernel) {
    return (size + 2 * c.pad - (kernel - 1) * c.dilation - 1) / c.stride + 1;
  };
  const int64_t pad_top = c.height == 1 ? 0 : c.pad;
  cpu::Window window;
  window.images = c.images;
  window.height = c.height, window.width = c.width, window.channels = c.channels;
  window.out_height = c.height == 1 ? 1 : out(c.height, c.kernel_height);
  window.out_width = out(c.width, c.kernel_width);
  window.kernel_height = c.kernel_height, window.kernel_width = c.kernel_width;
  window.stride_height = window.stride_width = c.stride;
  window.dilation_height = window.dilation_width = c.dilation;
  window.pad_top = pad_top, window.pad_left = c.pad;
  window.in_pixel_stride = c.channels, window.out_pixel_stride = c.out_channels;
  return window;
}

/// Calls use(tap, pixel of the input) for the taps of an output pixel's window that are in the image.
template <class Use>
void for_taps(const cpu::Window& w, int64_t pixel, const Use& use) {
  const int64_t image = pixel / (w.out_height * w.out_width);
  const int64_t out_y = pixel / w.out_width % w.out_height, out_x = pixel % w.out_width;
  for (int64_t r = 0; r < w.kernel_height; ++r) {
    for (int64_t s = 0; s < w.kernel_width; ++s) {
      const int64_t y = out_y * w.stride_height - w.pad_top + r * w.dilation_height;
      const int64_t x = out_x * w.stride_width - w.pad_left + s * w.dilation_width;
      const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
      if (inside) use(r * w.kernel_width + s, (image * w.height + y) * w.width + x);
    }
  }
}

int64_t pixels_of(const cpu::Window& w) { return w.images * w.out_height * w.out_width; }

/// Where pixels of the input and the output lie.
int64_t in_place(const cpu::Window& w, int64_t pixel) {
  const int64_t row_stride = w.in_row_stride != 0 ? w.in_row_stride : w.width * w.in_pixel_stride;
  const int64_t image_stride = w.in_image_stride != 0 ? w.in_image_stride : w.height * row_stride;
  const int64_t row = pixel / w.width;
  return row / w.height * image_stride + row % w.height * row_stride + pixel % w.width * w.in_pixel_stride;
}
int64_t out_place(const cpu::Window& w, int64_t pixel) {
  if (w.out_row_stride == 0) return pixel * w.out_pixel_stride;
  const int64_t row = pixel / w.out_width;
  return row / w.out_height * w.out_image_stride + row % w.out_height * w.out_row_stride +
         pixel % w.out_width * w.out_pixel_stride;
}

enum class Gaps { none, between_pixels, between_rows };

void leave_gaps(cpu::Window& w, Gaps gaps) {
  if (gaps == Gaps::none) return;
  w.in_pixel_stride += 3, w.out_pixel_stride += 2;
  if (gaps == Gaps::between_pixels) return;
  w.in_row_stride = w.width * w.in_pixel_stride + 5, w.in_image_stride = w.height * w.in_row_stride + 7;
  w.out_row_stride = w.out_width * w.out_pixel_stride + 9, w.out_image_stride = w.out_height * w.out_row_stride + 11;
}

struct ConvolutionTest {
  cpu::Convolution convolution;
  Floats in, weights, bias;
  int64_t taps, of_group;

  ConvolutionTest(const Case& c, Gaps gaps) {
    cpu::Window& w = convolution.window;
    w = window_of(c);
    leave_gaps(w, gaps);
    convolution.out_channels = c.out_channels;
    convolution.groups = c.groups;
    taps = w.kernel_height * w.kernel_width;
    of_group = c.channels / c.groups;
    // What lies beyond an image's last channel is not there to be read.
    in = random_floats(in_place(w, w.images * w.height * w.width - 1) + w.channels, 1);
    weights = random_floats(c.out_channels * of_group * taps, 2);
    bias = random_floats(c.out_channels, 3);
  }

  Floats run(ThreadPool& threads, const cpu::Isa& isa) const {
    Floats packed = filled(cpu::packed_weights_floats(convolution, isa));
    cpu::pack_weights(threads, packed.data(), weights.data(), convolution, isa);
    Floats out = filled(out_place(convolution.window, pixels_of(convolution.window) - 1) + convolution.out_channels);
    cpu::Epilogue epilogue;
    epilogue.bias = bias.data();
    epilogue.clamps = true;
    epilogue.lower = -1, epilogue.upper = 8;
    cpu::convolve(threads, convolution, in.data(), packed.data(), out.data(), epilogue, isa);
    return out;
  }

  Sum sum_of(int64_t pixel, int64_t o) const {
    Sum sum;
    sum.add(bias[static_cast<std::size_t>(o)]);
    const int64_t first = o / (convolution.out_channels / convolution.groups) * of_group;
    for_taps(convolution.window, pixel, [&](int64_t tap, int64_t of_in) {
      for (int64_t c = 0; c < of_group; ++c) {
        sum.add(double{in[static_cast<std::size_t>(in_place(convolution.window, of_in) + first + c)]} *
                weights[static_cast<std::size_t>((o * of_group + c) * taps + tap)]);
      }
    });
    return sum;
  }

  /// Wrong numbers, with sanitizers of every 7th, and numbers that were written in gaps.
  int64_t faults(Floats out) const {
    int64_t faults = 0, number = 0;
    for (int64_t pixel = 0; pixel < pixels_of(convolution.window); ++pixel) {
      for (int64_t o = 0; o < convolution.out_channels; ++o) {
        float& found = out[static_cast<std::size_t>(out_place(convolution.window, pixel) + o)];
        if (number++ % sampled(1, 7) == 0) {
          const Sum sum = sum_of(pixel, o);
          faults += !(std::abs(found - std::clamp(sum.value, -1.0, 8.0)) <= sum.bound());
        }
        found = not_written;
      }
    }
    return faults + std::count_if(out.begin(), out.end(), [](float x) { return x != not_written; });
  }
};

/// The pooling of one element in double.
double pooled(const cpu::Pooling& pooling, const Floats& in, int64_t pixel, int64_t channel) {
  const cpu::Window& w = pooling.window;
  double most = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
  for_taps(w, pixel, [&](int64_t, int64_t of_in) {
    const double x = in[static_cast<std::size_t>(in_place(w, of_in) + channel)];
    most = std::isnan(x) || std::isnan(most) ? std::numeric_limits<double>::quiet_NaN() : std::max(most, x);
    sum += x;
    ++count;
  });
  if (pooling.kind == cpu::Pooling::Kind::max) return most;
  if (!pooling.count_include_pad) return sum / std::max(count, 1.0);
  const int64_t top = pixel / w.out_width % w.out_height * w.stride_height - w.pad_top;
  const int64_t left = pixel % w.out_width * w.stride_width - w.pad_left;
  int64_t counted = 0;
  for (int64_t r = 0; r < w.kernel_height; ++r) {
    for (int64_t s = 0; s < w.kernel_width; ++s) {
      counted += top + r * w.dilation_height < w.height + pooling.pad_bottom &&
                 left + s * w.dilation_width < w.width + pooling.pad_right;
    }
  }
  return sum / static_cast<double>(std::max<int64_t>(counted, 1));
}

}  // namespace

TEST_CASE("convolutions of all forms are right, with room between pixels and rows and on any number of threads") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      for (const Gaps gaps : {Gaps::none, Gaps::between_pixels, Gaps::between_rows}) {
        ConvolutionTest test(c, gaps);
        for (const bool passes_padding : {false, true}) {
          test.convolution.has_finite_weights = passes_padding;
          const Floats out = test.run(one, isa);
          CHECK(test.faults(out) == 0);
          CHECK(test.run(three, isa) == out);
        }
      }
    }
  });
}

TEST_CASE("a convolution adds a residual before it clamps and finishes") {
  ThreadPool one(1);
  const auto add_ten = [](const void*, float* block, int64_t rows, int64_t columns, int64_t row_stride, int64_t,
                          int64_t) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) block[i * row_stride + j] += 10;
    }
  };
  // Also filters whose taps are multiplied some at a time: sums between them must not lie on the residual.
  constexpr Case with_residual[] = {{5, 6, 20, 20, 1, 3, 3, 1, 1, 1},    {5, 6, 20, 20, 4, 3, 3, 1, 1, 1},
                                    {5, 6, 20, 20, 20, 3, 3, 1, 1, 1},   {5, 6, 20, 20, 20, 3, 3, 1, 3, 3},
                                    {11, 13, 20, 20, 20, 9, 9, 1, 1, 4}, {11, 13, 20, 20, 20, 9, 9, 1, 2, 8},
                                    {5, 6, 20, 20, 20, 9, 9, 3, 1, 4},   {5, 6, 420, 4, 1, 3, 3, 1, 1, 1}};
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Case& c : with_residual) {
      CAPTURE(&c - with_residual);
      ConvolutionTest test(c, Gaps::none);
      const int64_t channels = c.out_channels, numbers = pixels_of(test.convolution.window) * channels;
      Floats packed = filled(cpu::packed_weights_floats(test.convolution, isa));
      cpu::pack_weights(one, packed.data(), test.weights.data(), test.convolution, isa);
      for (const bool passes_padding : {false, true}) {
        test.convolution.has_finite_weights = passes_padding;
        const Floats residual = random_floats(numbers, 9);
        Floats out = residual;
        cpu::Epilogue epilogue{.bias = test.bias.data(),
                               .residual = out.data(),
                               .residual_stride = channels,
                               .clamps = true,
                               .lower = 0,
                               .upper = 1,
                               .finish = add_ten};
        cpu::convolve(one, test.convolution, test.in.data(), packed.data(), out.data(), epilogue, isa);
        for (int64_t i = 0; i < numbers; ++i) {
          Sum sum = test.sum_of(i / channels, i % channels);
          sum.add(residual[static_cast<std::size_t>(i)]);
          const double wanted = std::clamp(sum.value, 0.0, 1.0) + 10;
          CHECK(std::abs(out[static_cast<std::size_t>(i)] - wanted) <= sum.bound() + 1e-6);
        }
      }
    }
  });
}

TEST_CASE("sums of a convolution are not lost beside a large bias or residual") {
  ThreadPool one(1);
  constexpr float large = 1e8F, step = 8;  // of floats there
  constexpr Case with_bias[] = {{16, 16, 8, 8, 1, 11, 11, 1, 1, 0}, {16, 16, 8, 8, 8, 11, 11, 1, 1, 0},
                                {16, 16, 8, 8, 8, 3, 3, 1, 2, 2},   {16, 16, 8, 8, 8, 2, 2, 1, 1, 0},
                                {16, 16, 8, 8, 8, 9, 9, 3, 1, 4},   {16, 16, 8, 16, 8, 3, 3, 1, 1, 1}};
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Case& c : with_bias) {
      for (const bool is_residual : {false, true}) {
        CAPTURE(&c - with_bias);
        CAPTURE(is_residual);
        ConvolutionTest test(c, Gaps::none);
        test.convolution.has_finite_weights = true;
        // Whole numbers, of which float32 has all sums.
        for (float& x : test.in) x = 1;
        for (float& weight : test.weights) weight = 3;
        for (float& bias : test.bias) bias = is_residual ? 0 : large;
        Floats packed = filled(cpu::packed_weights_floats(test.convolution, isa));
        cpu::pack_weights(one, packed.data(), test.weights.data(), test.convolution, isa);
        Floats out = filled(pixels_of(test.convolution.window) * c.out_channels, large);
        cpu::Epilogue epilogue{.bias = test.bias.data()};
        if (is_residual) epilogue.residual = out.data(), epilogue.residual_stride = c.out_channels;
        cpu::convolve(one, test.convolution, test.in.data(), packed.data(), out.data(), epilogue, isa);
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto place = static_cast<int64_t>(i);
          const Sum sum = test.sum_of(place / c.out_channels, place % c.out_channels);
          CHECK(std::abs(out[i] - (sum.value + (is_residual ? large : 0))) <= step / 2);
        }
      }
    }
  });
}

TEST_CASE("poolings of all forms are right, and a maximum passes NaN on") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      for (int turn = 0; turn < 6; ++turn) {
        cpu::Pooling pooling;
        pooling.window = window_of(c);
        pooling.window.out_pixel_stride = c.channels + 1;
        pooling.window.in_pixel_stride = c.channels + turn % 2;
        if (turn % 2 == 1) pooling.window.in_row_stride = (c.width + 1) * pooling.window.in_pixel_stride;
        pooling.kind = turn < 2 ? cpu::Pooling::Kind::max : cpu::Pooling::Kind::average;
        pooling.count_include_pad = turn >= 4;
        pooling.pad_bottom = pooling.pad_right = c.pad / 2;
        Floats in = random_floats(in_place(pooling.window, c.images * c.height * c.width - 1) + c.channels, 4);
        if (turn == 1)
          in[static_cast<std::size_t>(in_place(pooling.window, c.images * c.height * c.width / 2))] =
              std::numeric_limits<float>::quiet_NaN();
        Floats out = filled(pixels_of(pooling.window) * (c.channels + 1)), again = out;
        cpu::pool(one, pooling, in.data(), out.data(), isa);
        cpu::pool(three, pooling, in.data(), again.data(), isa);
        int64_t faults = 0;
        for (std::size_t i = 0; i < out.size(); i += sampled(1, 7)) {
          const auto pixel = static_cast<int64_t>(i) / (c.channels + 1),
                     channel = static_cast<int64_t>(i) % (c.channels + 1);
          const double wanted = channel == c.channels ? not_written : pooled(pooling, in, pixel, channel);
          const bool same =
              std::isnan(wanted) ? std::isnan(out[i]) : out[i] == wanted || std::abs(out[i] - wanted) < 1e-5;
          faults += !same || !(out[i] == again[i] || std::isnan(out[i]));
        }
        CHECK(faults == 0);
      }
    }
  });
}

}  // namespace onnxkit::tests::cpu_window
