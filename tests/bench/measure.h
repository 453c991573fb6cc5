#pragma once

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "onnxkit/result.h"

// What the programs that measure share.
namespace onnxkit::bench {

/// Ends the program where there is no value.
template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().diagnostic.message);
  std::exit(1);
}

inline double seconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// CPU time, so that what else runs on the machine disturbs less.
inline double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

/// Precondition: there are some.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace onnxkit::bench
