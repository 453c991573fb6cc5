#pragma once

#include <cstdint>
#include <vector>

// The loops of noise.cpp, for an instruction set. noise_kernel.inc is compiled once for each; nothing of its code is shared between them.
namespace onnxkit::reference {

/// Number i of a loop draws by key + i. Numbers that have no bit in common with `beyond` (bits_beyond) are exact and stay as they are.
struct NoiseKernel {
  const char* name;

  /// x[i] += x[i] * scale * e, where e is nearly normal with variance 1.
  void (*add_relative)(double* x, std::int64_t count, std::uint64_t key, double scale, std::uint64_t beyond);
  /// x[i] += scale * e, where e is nearly normal with variance 1.
  void (*add_absolute)(double* x, std::int64_t count, std::uint64_t key, double scale, std::uint64_t beyond);
  /// x[i] *= 1 + unit * e, where e is uniform on [-1, 1).
  void (*round_operands)(double* x, std::int64_t count, std::uint64_t key, double unit, std::uint64_t beyond);
  /// y[i] += scale * sqrt(terms * y[i]^2 + squares * of_column[i]) * e, where e is nearly normal with variance 1.
  void (*add_of_sums)(double* y, std::int64_t count, std::uint64_t key, double scale, double terms, double squares,
                      const double* of_column, std::uint64_t beyond);

  double (*sum_of_squares)(const double* x, std::int64_t count);
  /// sums[i] += x[i]^2.
  void (*add_squares)(double* sums, const double* x, std::int64_t count);
};

/// Those that this machine can run, best first; the last runs everywhere.
std::vector<const NoiseKernel*> usable_noise_kernels();

extern const NoiseKernel noise_kernel_baseline;
#if defined(__x86_64__)
extern const NoiseKernel noise_kernel_v3, noise_kernel_v4;
#endif

}  // namespace onnxkit::reference
