#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnxkit/bench.h"
#include "onnxkit/diagnostic.h"
#include "tools/command.h"
#include "tools/options/inference.h"
#include "tools/options/inputs.h"
#include "tools/options/notes.h"
#include "tools/options/output.h"
#include "tools/options/workers.h"
#include "tools/report/bench/bench.h"

namespace onnxkit::tools {

struct BenchArguments {
  std::vector<std::string> models, backends;
  std::map<std::string, Diagnostic> no_models = {};  ///< folders and patterns that give none, and why
  std::vector<std::int64_t> batches, threads;
  InputOptions inputs;
  InferenceOptions inference;
  WorkerOptions workers;
  BenchOptions bench;
  std::uint64_t max_time_ms = 30'000;
  bool no_judging = false;
  std::string max_slowdown = "5%", baseline, report, trace, resume;
  bool compares = false;
  BenchFormat format = BenchFormat::text;
  ColorChoice color = ColorChoice::automatic;
  Notes notes = Notes::usual;

  bool wants_profiles() const { return bench.profiles || !trace.empty(); }
  ErrorReporter reporter() const { return {"bench", format == BenchFormat::json}; }
};

/// "5%" or "0.05" as 0.05. A bare 5 is refused: who writes it does not mean 500 %. Error usage.
Result<double> share_named(const std::string& word);

/// Before anything runs: whether the files that will be written can be, replace nothing else, and are no two outputs in one. Errors: cannot-write,
/// usage.
Result<void> check_bench_files(const BenchArguments& arguments);
/// The page, with what has changed since an earlier report where there is one, and the trace, where they are asked for.
Result<void> write_bench_files(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison,
                               const BenchArguments& arguments);

}  // namespace onnxkit::tools
