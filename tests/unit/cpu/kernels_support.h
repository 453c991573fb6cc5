#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "libonnxkit/cpu/kernels/kernels.h"

// What tests of the kernels of backend `cpu` share: every one runs on each instruction set of the machine, against plain loops in double.
namespace onnxkit::tests::cpu_kernels {

using std::int64_t;
using Floats = std::vector<float>;

constexpr float not_written = -77;

inline Floats filled(int64_t count, float value = not_written) {
  return Floats(static_cast<std::size_t>(count), value);
}

inline Floats random_floats(int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

/// A sum in double, and that of its terms' magnitudes.
struct Sum {
  double value = 0, magnitude = 0;
  int64_t terms = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    ++terms;
  }
  /// What a float may differ by, whatever the order of the sum.
  double bound() const { return static_cast<double>(terms + 3) * 0x1p-24 * magnitude + 1e-40; }
};

template <class Test>
void on_each_isa(const Test& test) {
  for (const cpu::Isa* isa : cpu::usable_isas()) {
    CAPTURE(cpu::isa_name(*isa));
    test(*isa);
  }
}

}  // namespace onnxkit::tests::cpu_kernels
