#include "libonnxkit/bench/roof.h"

#include <algorithm>
#include <atomic>
#include <chrono>
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

PeakKernel best_peak_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return peak_v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return peak_v3;
#endif
  return peak_baseline;
}

using RoofClock = std::chrono::steady_clock;

double roof_seconds_since(RoofClock::time_point start) {
  return std::chrono::duration<double>(RoofClock::now() - start).count();
}

/// What so many threads do in a second side by side: `work(thread)` says how much it did. From when the first begins until the last has ended.
double rate_of_turn(int threads, const std::function<double(int)>& work) {
  std::atomic<int> waiting = 0;
  std::atomic<bool> begins = false;
  std::vector<double> done(static_cast<std::size_t>(threads), 0);
  const auto run = [&](int thread) {
    ++waiting;
    while (!begins) std::this_thread::yield();
    done[static_cast<std::size_t>(thread)] = work(thread);
  };
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
  } catch (const std::system_error&) {  // the system has fewer threads; these tell what there is
  }
  while (static_cast<std::size_t>(waiting) < others.size()) std::this_thread::yield();
  const RoofClock::time_point start = RoofClock::now();
  begins = true;
  done[0] = work(0);
  others.clear();
  return std::accumulate(done.begin(), done.end(), 0.0) / std::max(roof_seconds_since(start), 1e-9);
}

/// The best of some turns, in which the machine's other work does not show: as many as it takes for two to agree.
double rate_of(int threads, const std::function<double(int)>& work) {
  constexpr int least_turns = 16;
  constexpr double agreement = 0.95, longest = 0.5;
  double best = 0, second = 0;
  const RoofClock::time_point start = RoofClock::now();
  for (int turn = 0; turn < least_turns || (second < agreement * best && roof_seconds_since(start) < longest); ++turn) {
    const double rate = rate_of_turn(threads, work);
    second = std::max(second, std::min(best, rate));
    best = std::max(best, rate);
  }
  return best;
}

double peak_operations(int threads) {
  constexpr std::int64_t rounds = 500'000;
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
  const int cores = usable_cores(), count = std::clamp(threads > 0 ? threads : cores, 1, cores);
  return {.operations_per_second = peak_operations(count), .bytes_per_second = peak_bytes(count), .threads = count};
}

}  // namespace onnxkit::benching
