#pragma once

#include <random>

#include "tests/unit/cuda/host_program.h"
#include "tests/unit/sample.h"

namespace onnxkit::tests {

/// Random numbers of a test; every run has the same.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(end));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  double normal() { return std::normal_distribution<double>()(engine_); }

  /// A view of a buffer of its own: axes in any order, with gaps, maybe backwards, and repeated where `repeats`.
  plan::View view(std::uint32_t buffer, ElementType type, const plan::Dims& dims, bool repeats);
  /// Fills the buffers of the inputs: numbers around 0, a few special ones where `specials`.
  void fill(HostStep& step, bool specials);

 private:
  std::mt19937_64 engine_;
};

/// Calls f with the coordinates of each element.
template <class F>
void for_each_element(const plan::Dims& dims, F f) {
  plan::Dims at(dims.size(), 0);
  for (std::int64_t i = plan::element_count(dims); i > 0; --i) {
    f(at);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}
/// With sanitizers, where sums take long, every 13th of many elements.
template <class F>
void for_each_checked_element(const plan::Dims& dims, F f) {
  const std::int64_t step = plan::element_count(dims) > 10'000 ? sampled(1, 13) : 1;
  std::int64_t index = 0;
  for_each_element(dims, [&](const plan::Dims& at) {
    if (index++ % step == 0) f(at);
  });
}
std::int64_t place_of(const plan::View& view, const plan::Dims& at);

/// Runs the steps' kernels forwards and backwards, to the same memory, and some with their numbers as parameters; `faults` counts what is wrong in it.
void check_steps(std::vector<HostStep>& steps, std::int64_t (*faults)(const HostStep& one));

}  // namespace onnxkit::tests
