// Times all figures of two float32 tensors against one pass over their memory.
//   bench_metrics [--elements N] [--repeats N] [--kind noise|line|gaps|same]
// Prints the least of some turns in milliseconds: the sum of both arrays on one thread, compare on all cores, compare on one thread (CPU time,
// which other work on the machine disturbs less), and the ratio of these two to the sum.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "libonnxkit/compare/metrics/metrics.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::bench;

namespace {

double milliseconds(clockid_t clock, auto&& work) {
  const double start = seconds_of(clock);
  work();
  return 1e3 * (seconds_of(clock) - start);
}

/// Words instead of floats: their sum needs no order, so the compiler may make the loop as fast as memory is.
std::uint32_t sum_of_words(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0, word = 0;
  for (std::size_t at = 0; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    sum += word;
  }
  return sum;
}

/// Numbers within 2; the second is a little off the first, or on a line over it, or has NaN in each block, or is the same.
std::pair<Tensor, Tensor> tensors(std::int64_t elements, const std::string& kind) {
  std::vector<std::byte> first(4 * static_cast<std::size_t>(elements)), second(first.size());
  std::uint64_t state = 1;
  const auto uniform = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  };
  for (std::size_t at = 0; at < first.size(); at += sizeof(float)) {
    const float a = 2 * uniform();
    float b = kind == "line" ? 1.01f * a + 0.01f : kind == "same" ? a : a * (1 + uniform() / 1000);
    if (kind == "gaps" && at % 2000 == 0) b = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(first.data() + at, &a, sizeof(float));
    std::memcpy(second.data() + at, &b, sizeof(float));
  }
  return {*Tensor::from_bytes(ElementType::float32, {elements}, std::move(first)),
          *Tensor::from_bytes(ElementType::float32, {elements}, std::move(second))};
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t elements = 100'000'000;
  int repeats = 5;
  std::string kind = "noise";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--elements") elements = std::max(1LL, std::atoll(argv[i + 1]));
    if (std::string(argv[i]) == "--repeats") repeats = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--kind") kind = argv[i + 1];
  }
  const auto pair = tensors(elements, kind);
  const Tensor &a = pair.first, &b = pair.second;
  double pass = 1e9, all_cores = 1e9, one_thread = 1e9;
  std::uint32_t sum = 0;
  double figures = 0;
  for (int turn = 0; turn < repeats; ++turn) {
    pass = std::min(
        pass, milliseconds(CLOCK_THREAD_CPUTIME_ID, [&] { sum += sum_of_words(a.bytes()) + sum_of_words(b.bytes()); }));
    all_cores =
        std::min(all_cores, milliseconds(CLOCK_MONOTONIC, [&] { figures += comparison::compare(a, b)->cosine; }));
    one_thread = std::min(one_thread, milliseconds(CLOCK_THREAD_CPUTIME_ID,
                                                   [&] { figures += comparison::compare(a, b, 10, 1)->cosine; }));
  }
  if (sum == 0 || figures == 0) fmt::print(stderr, "the arrays are zero\n");
  fmt::print("{:.1f} {:.1f} {:.1f} {:.2f} {:.2f}\n", pass, all_cores, one_thread, all_cores / pass, one_thread / pass);
}
