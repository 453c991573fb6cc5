// GFLOP/s of the reference's matrix product on one thread: for one shape, or for shapes that models have, by instruction set.
//   bench_gemm [M N K]
#include "reference/kernels/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "reference/kernels/gemm_kernel.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::reference;
using namespace onnxkit::bench;

namespace {

struct Shape {
  std::int64_t rows, columns, depth;
};
constexpr Shape shapes[] = {{512, 512, 512}, {1, 1000, 2048},  {1000, 1, 2048},  {64, 3136, 576}, {64, 3136, 64},
                            {2048, 49, 512}, {256, 196, 2304}, {128, 3072, 768}, {512, 512, 8}};

template <class Multiply>
double gflops(const Shape& shape, bool turned, const Multiply& multiply) {
  const std::vector<double> a(static_cast<std::size_t>(shape.rows * shape.depth), 1.1);
  const std::vector<double> b(static_cast<std::size_t>(shape.depth * shape.columns), 0.7);
  std::vector<double> c(static_cast<std::size_t>(shape.rows * shape.columns));
  auto of_b = row_major(b.data(), shape.depth, shape.columns);
  if (turned) of_b = row_major(b.data(), shape.columns, shape.depth).transposed();
  double best = 1e9, total = 0;
  while (total < 0.3) {
    const double start = thread_seconds();
    multiply(row_major(a.data(), shape.rows, shape.depth), of_b, row_major(c.data(), shape.rows, shape.columns));
    const double took = thread_seconds() - start;
    best = std::min(best, took);
    total += took;
  }
  return 2e-9 * static_cast<double>(shape.rows * shape.columns * shape.depth) / best;
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool one(1);
  if (argc == 4) {
    const Shape shape{std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3])};
    fmt::print("{:.2f}\n", gflops(shape, false, [&](auto a, auto b, auto c) { gemm(one, a, b, c); }));
    return 0;
  }
  fmt::print("GFLOP/s (where b is transposed)\n{:>6}{:>6}{:>6}", "M", "N", "K");
  const auto kernels = usable_gemm_kernels();
  for (const GemmKernel* kernel : kernels) fmt::print("{:>17}", kernel->name);
  fmt::print("{:>9}\n", "exact");
  for (const Shape& shape : shapes) {
    fmt::print("{:>6}{:>6}{:>6}", shape.rows, shape.columns, shape.depth);
    for (const GemmKernel* kernel : kernels) {
      const auto multiply = [&](auto a, auto b, auto c) { gemm(one, *kernel, a, b, c, false); };
      fmt::print("{:9.1f} ({:5.1f})", gflops(shape, false, multiply), gflops(shape, true, multiply));
    }
    fmt::print("{:9.1f}\n", gflops(shape, false, [&](auto a, auto b, auto c) { gemm_exact(one, a, b, c); }));
  }
}
