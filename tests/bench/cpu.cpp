// GFLOP/s (products, convolutions) and GB/s (all else) of the kernels of backend `cpu` on one thread, for shapes that models have.
//   bench_cpu [ISA]     baseline, v3 or v4; default: the best
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::cpu;
using namespace onnxkit::bench;

namespace {

using std::int64_t;

/// The median of what a call takes.
template <class Call>
double seconds(const Call& call) {
  std::vector<double> times;
  double total = 0;
  call();
  while (total < 0.15 || times.size() < 5) {
    const double start = thread_seconds();
    call();
    times.push_back(thread_seconds() - start);
    total += times.back();
  }
  return median(std::move(times));
}

/// Memory at multiples of 64 bytes, as the plan's is.
template <class T>
struct Aligned {
  using value_type = T;
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{64}); }
  bool operator==(const Aligned&) const { return true; }
};
using Floats = std::vector<float, Aligned<float>>;

Floats floats(int64_t count) { return Floats(static_cast<std::size_t>(count), 0.7F); }

struct Bench {
  const Isa& isa;
  ThreadPool one = ThreadPool(1);

  void products() {
    struct Shape {
      int64_t m, n, k;
    };
    constexpr Shape shapes[] = {{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {1, 768, 768},      {1, 3072, 768},
                                {2, 3072, 768},  {1, 1000, 2048},  {512, 512, 512},  {1024, 4096, 1024}, {6, 6, 6}};
    fmt::print("product\n{:>8}{:>8}{:>8}{:>12}{:>10}{:>10}\n", "M", "N", "K", "us", "GFLOP/s", "pack us");
    for (const Shape& s : shapes) {
      const auto a = floats(s.m * s.k), b = floats(s.k * s.n);
      auto packed = floats(packed_b_floats(s.k, s.n, isa)), c = floats(s.m * s.n);
      const double packing = seconds([&] { pack_b(packed.data(), b.data(), s.k, s.n, 1, s.k, isa); });
      const double took = seconds([&] {
        product(one, {a.data(), s.k, packed.data(), c.data(), s.n, s.m, s.k, s.n}, {}, isa);
      });
      fmt::print("{:8}{:8}{:8}{:12.2f}{:10.1f}{:10.1f}\n", s.m, s.n, s.k, 1e6 * took,
                 2e-9 * static_cast<double>(s.m * s.n * s.k) / took, 1e6 * packing);
    }
  }

  struct Layer {
    int64_t size, in, out, kernel, stride, groups, count;
  };

  double convolution(const Layer& layer) {
    Convolution convolution;
    Window& w = convolution.window;
    w.height = w.width = layer.size;
    w.channels = w.in_pixel_stride = layer.in;
    w.kernel_height = w.kernel_width = layer.kernel;
    w.stride_height = w.stride_width = layer.stride;
    w.pad_top = w.pad_left = layer.kernel / 2;
    w.out_height = w.out_width = (layer.size + 2 * w.pad_top - layer.kernel) / layer.stride + 1;
    w.out_pixel_stride = convolution.out_channels = layer.out;
    convolution.groups = layer.groups;
    convolution.has_finite_weights = true;
    const int64_t weight_count = layer.out * (layer.in / layer.groups) * layer.kernel * layer.kernel;
    const auto in = floats(layer.size * layer.size * layer.in), weights = floats(weight_count),
               bias = floats(layer.out);
    auto packed = floats(packed_weights_floats(convolution, isa)), out = floats(w.out_height * w.out_width * layer.out);
    pack_weights(one, packed.data(), weights.data(), convolution, isa);
    Epilogue epilogue;
    epilogue.bias = bias.data();
    epilogue.clamps = true;
    epilogue.upper = 1e30F;
    const double took =
        seconds([&] { convolve(one, convolution, in.data(), packed.data(), out.data(), epilogue, isa); });
    const double flops = 2.0 * static_cast<double>(w.out_height * w.out_width * weight_count);
    const double bytes = 4.0 * static_cast<double>(in.size() + out.size() + packed.size());
    fmt::print("{:6}{:6}{:6}{:4}{:4}{:6}{:4}{:12.1f}{:10.1f}{:8.1f}\n", layer.size, layer.in, layer.out, layer.kernel,
               layer.stride, layer.groups, layer.count, 1e6 * took, 1e-9 * flops / took, 1e-9 * bytes / took);
    return took * static_cast<double>(layer.count);
  }

  void network(std::string_view name, const std::vector<Layer>& layers) {
    fmt::print("{}\n{:>6}{:>6}{:>6}{:>4}{:>4}{:>6}{:>4}{:>12}{:>10}{:>8}\n", name, "size", "in", "out", "k", "s",
               "group", "x", "us", "GFLOP/s", "GB/s");
    double sum = 0;
    for (const Layer& layer : layers) sum += convolution(layer);
    fmt::print("sum {:.2f} ms\n", 1e3 * sum);
  }

  void functions() {
    constexpr int64_t count = 4096;
    const auto from = floats(count);
    auto to = floats(count);
    constexpr std::string_view names[] = {"exp", "log", "tanh", "erf", "sigmoid", "silu", "atan"};
    for (int f = 0; f < 7; ++f) {
      ArrayFunction* const function = array_function(static_cast<Function>(f), isa);
      const double took = seconds([&] { function(to.data(), from.data(), count); });
      fmt::print("{:12}{:8.3f} ns for each\n", names[f], 1e9 * took / count);
    }
  }

  void rows() {
    constexpr int64_t count = 128, columns = 768;
    const auto from = floats(count * columns), scale = floats(columns);
    auto to = floats(count * columns);
    const Rows all{from.data(), columns, to.data(), columns, count, columns};
    fmt::print("softmax     {:8.3f} ns for each\n",
               1e9 / (count * columns) * seconds([&] { softmax_rows(one, all, isa); }));
    Normalization norm;
    norm.epsilon = 1e-5F;
    norm.scale = norm.bias = scale.data();
    fmt::print("layer norm  {:8.3f} ns for each\n",
               1e9 / (count * columns) * seconds([&] { normalize_rows(one, all, norm, isa); }));
    Pooling pooling;
    Window& w = pooling.window;
    w.height = w.width = 112;
    w.channels = w.in_pixel_stride = w.out_pixel_stride = 64;
    w.kernel_height = w.kernel_width = 3;
    w.stride_height = w.stride_width = 2;
    w.pad_top = w.pad_left = 1;
    w.out_height = w.out_width = 56;
    const auto image = floats(112 * 112 * 64);
    auto pooled = floats(56 * 56 * 64);
    fmt::print("max pool    {:8.1f} us\n",
               1e6 * seconds([&] { pool(one, pooling, image.data(), pooled.data(), isa); }));
    Attention attention;
    attention.q = attention.k = attention.v = from.data();
    attention.q_stride = attention.k_stride = attention.v_stride = attention.out_stride = columns;
    attention.out = to.data();
    attention.queries = attention.keys = count;
    attention.depth = attention.value_depth = 64;
    attention.scale = 0.125F;
    auto scratch = floats(attention_scratch_floats(attention, isa));
    fmt::print("attention   {:8.1f} us for a head of 128 x 64\n",
               1e6 * seconds([&] { attend(attention, scratch.data(), isa); }));
  }
};

const std::vector<Bench::Layer> resnet = {
    {224, 3, 64, 7, 2, 1, 1},     {56, 64, 64, 1, 1, 1, 1},    {56, 64, 64, 3, 1, 1, 3},    {56, 64, 256, 1, 1, 1, 4},
    {56, 256, 64, 1, 1, 1, 2},    {56, 256, 128, 1, 1, 1, 1},  {56, 128, 128, 3, 2, 1, 1},  {28, 128, 512, 1, 1, 1, 4},
    {56, 256, 512, 1, 2, 1, 1},   {28, 512, 128, 1, 1, 1, 3},  {28, 128, 128, 3, 1, 1, 3},  {28, 512, 256, 1, 1, 1, 1},
    {28, 256, 256, 3, 2, 1, 1},   {14, 256, 1024, 1, 1, 1, 6}, {28, 512, 1024, 1, 2, 1, 1}, {14, 1024, 256, 1, 1, 1, 5},
    {14, 256, 256, 3, 1, 1, 5},   {14, 1024, 512, 1, 1, 1, 1}, {14, 512, 512, 3, 2, 1, 1},  {7, 512, 2048, 1, 1, 1, 3},
    {14, 1024, 2048, 1, 2, 1, 1}, {7, 2048, 512, 1, 1, 1, 2},  {7, 512, 512, 3, 1, 1, 2}};
const std::vector<Bench::Layer> mobilenet = {
    {224, 3, 32, 3, 2, 1, 1},     {112, 32, 32, 3, 1, 32, 1},   {112, 32, 16, 1, 1, 1, 1},
    {112, 16, 96, 1, 1, 1, 1},    {112, 96, 96, 3, 2, 96, 1},   {56, 96, 24, 1, 1, 1, 1},
    {56, 24, 144, 1, 1, 1, 2},    {56, 144, 144, 3, 1, 144, 1}, {56, 144, 24, 1, 1, 1, 1},
    {56, 144, 144, 3, 2, 144, 1}, {28, 144, 32, 1, 1, 1, 1},    {28, 32, 192, 1, 1, 1, 3},
    {28, 192, 192, 3, 1, 192, 2}, {28, 192, 32, 1, 1, 1, 2},    {28, 192, 192, 3, 2, 192, 1},
    {14, 192, 64, 1, 1, 1, 1},    {14, 64, 384, 1, 1, 1, 4},    {14, 384, 384, 3, 1, 384, 4},
    {14, 384, 64, 1, 1, 1, 3},    {14, 384, 96, 1, 1, 1, 1},    {14, 96, 576, 1, 1, 1, 3},
    {14, 576, 576, 3, 1, 576, 2}, {14, 576, 96, 1, 1, 1, 2},    {14, 576, 576, 3, 2, 576, 1},
    {7, 576, 160, 1, 1, 1, 1},    {7, 160, 960, 1, 1, 1, 3},    {7, 960, 960, 3, 1, 960, 3},
    {7, 960, 160, 1, 1, 1, 2},    {7, 960, 320, 1, 1, 1, 1},    {7, 320, 1280, 1, 1, 1, 1}};
const std::vector<Bench::Layer> resnext = {
    {56, 128, 128, 3, 1, 32, 3}, {28, 256, 256, 3, 1, 32, 3}, {14, 512, 512, 3, 1, 32, 5}};

}  // namespace

int main(int argc, char** argv) {
  const Isa* chosen = &best_isa();
  for (const Isa* isa : usable_isas()) {
    if (argc > 1 && std::string_view(argv[1]) == isa_name(*isa)) chosen = isa;
  }
  fmt::print("instruction set {}\n", isa_name(*chosen));
  Bench bench{*chosen};
  bench.products();
  bench.network("ResNet-50", resnet);
  bench.network("MobileNetV2", mobilenet);
  bench.network("ResNeXt-50, grouped", resnext);
  bench.functions();
  bench.rows();
}
