#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/bench/bench.h"

// Which measurements of two reports are of the same thing.
namespace onnxkit::tools {

/// A side of a measurement.
struct BenchMatch {
  const Benchmark* benchmark = nullptr;
  const BenchSideReport* side = nullptr;  ///< null where nothing was found
};

/// The sides of all measurements of a report, which has to outlive this. A report that --resume made may hold a model in one setting several times.
class BenchSides {
 public:
  explicit BenchSides(const std::vector<Benchmark>& benchmarks);

  /// The side of the same model, backend and options in the same setting. Of several that of the same processor, then one that was measured, then one
  /// with the same values of inputs, then one beside the same others.
  BenchMatch find(const Benchmark& benchmark, const BenchSideReport& side) const;

 private:
  std::unordered_map<std::string, std::vector<BenchMatch>> sides_;
};

/// Whether the model could not be measured at all; one that was stopped before did not fail.
bool has_failed_whole(const Benchmark& benchmark);

}  // namespace onnxkit::tools
