#pragma once

#include <string>
#include <vector>

#include "tools/report/bench/bench.h"

namespace onnxkit::tests {

struct BenchSample {
  std::string name;
  std::vector<tools::Benchmark> benchmarks, before = {};  ///< `before` is an earlier report
};

/// Benchmarks made by hand: one model, batches on two threads' settings, profiles, failures, hostile names, nothing measured.
std::vector<BenchSample> bench_samples();

}  // namespace onnxkit::tests
