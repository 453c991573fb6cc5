#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tools/bench/plans.h"

namespace onnxkit::tools {

/// What a sweep over models and settings came to: as much as there is, however it ended.
struct BenchSweep {
  /// In the order of plans; one that could not be measured has its error as Benchmark::failure.
  std::vector<Benchmark> benchmarks;
  bool was_stopped = false;
  std::size_t outdated = 0;     ///< that were measured again, since a model or a runtime had changed
  std::optional<Error> unkept;  ///< why a measurement could not be put where --resume says
};

/// Every plan. What --resume holds is not measured again, and what was measured is put there at once. A plan that cannot be measured does not keep
/// the others from it. Errors: of reading what --resume holds; where all plans are of one model, and none could be measured, that of the first.
Result<BenchSweep> run_sweep(const BenchArguments& arguments, const ThreadOptions& threads);

/// A report; "-" is standard input.
Result<std::vector<Benchmark>> read_benchmarks(const std::string& path);

}  // namespace onnxkit::tools
