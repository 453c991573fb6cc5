#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnxkit/bench.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

/// One model in one setting.
struct Benchmark {
  std::string model;
  std::optional<std::int64_t> batch, threads;
  BenchReport report;
};

/// Whether two have the same model, batch, threads and sizes of inputs, where both tell those.
bool is_same_setting(const Benchmark& a, const Benchmark& b);

enum class BenchFormat { text, json, csv, markdown };

std::string bench_text(const std::vector<Benchmark>& benchmarks, bool color);
std::string bench_json(const std::vector<Benchmark>& benchmarks);
std::string bench_csv(const std::vector<Benchmark>& benchmarks);
std::string bench_markdown(const std::vector<Benchmark>& benchmarks);

/// A page with all figures, that fetches nothing.
std::string bench_html(const std::vector<Benchmark>& benchmarks);
/// The profiles as a trace of events, which Perfetto and chrome://tracing open.
std::string bench_trace(const std::vector<Benchmark>& benchmarks);

/// The way back of bench_json. `path` is that of the text, for messages. Error json-syntax.
Result<std::vector<Benchmark>> benchmarks_in(const std::string& text, const std::string& path);

/// A side that both reports have, and how much longer it takes in the second.
struct BenchChange {
  std::string what;  ///< model, side, batch and threads
  std::optional<Ratio> ratio;
  double before = 0, after = 0;  ///< medians in seconds, 0 where there is none
  bool is_slower = false;        ///< by more than is allowed, and surely
  bool is_worse = false;         ///< it failed or answered wrong, and did not before
  std::string remark;            ///< on what it did or lacks
};
/// `most` is the slowdown that is allowed, 0.05 for 5 %.
std::vector<BenchChange> compare_benchmarks(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                            double most);
std::string changes_text(const std::vector<BenchChange>& changes, bool color);
/// Measurements of `these` in a setting that `those` lack.
std::size_t count_of_others(const std::vector<Benchmark>& these, const std::vector<Benchmark>& those);

/// Whether a side failed, or answered wrong.
bool has_finding(const std::vector<Benchmark>& benchmarks);

}  // namespace onnxkit::tools
