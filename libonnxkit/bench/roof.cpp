#include "libonnxkit/bench/roof.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/bench/peak.h"

namespace onnxkit::benching {
namespace {

constexpr std::size_t copied_bytes = std::size_t{64} << 20;  // more than caches hold
constexpr int roof_turns = 3;

PeakKernel best_peak_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return peak_v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return peak_v3;
#endif
  return peak_baseline;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What so many threads do in a second, all together: `work(thread)` says how much it did. By CPU time, in which the machine's other work does not show;
/// the best of a few turns.
double rate_of(int threads, const std::function<double(int)>& work) {
  double best = 0;
  for (int turn = 0; turn < roof_turns; ++turn) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    const auto run = [&](int thread) {
      const double start = thread_seconds();
      const double done = work(thread);
      rates[static_cast<std::size_t>(thread)] = done / std::max(thread_seconds() - start, 1e-9);
    };
    std::vector<std::jthread> others;
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    } catch (const std::system_error&) {  // the system has fewer threads; the others tell what there is
    }
    run(0);
    others.clear();
    best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return best;
}

double peak_operations(int threads) {
  constexpr std::int64_t rounds = 1'000'000;
  const PeakKernel kernel = best_peak_kernel();
  std::atomic<float> used = 0;
  return rate_of(threads, [&](int) {
    std::int64_t operations = 0;
    used = kernel(rounds, 0.999F, operations);
    return static_cast<double>(rounds) * static_cast<double>(operations);
  });
}

/// Of a copy: what is read and what is written.
double peak_bytes(int threads) {
  std::vector<std::byte> from(copied_bytes), to(copied_bytes);
  const std::size_t share = copied_bytes / static_cast<std::size_t>(threads);
  return rate_of(threads, [&](int thread) {
    const std::size_t begin = share * static_cast<std::size_t>(thread);
    std::memcpy(to.data() + begin, from.data() + begin, share);
    return 2 * static_cast<double>(share);
  });
}

}  // namespace

BenchRoof measure_roof(int threads) {
  const int count = std::clamp(threads > 0 ? threads : usable_cores(), 1, 1024);
  return {.operations_per_second = peak_operations(count), .bytes_per_second = peak_bytes(count), .threads = count};
}

}  // namespace onnxkit::benching
