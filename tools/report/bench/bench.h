#pragma once

#include <map>
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
  std::optional<Error> failure = {};  ///< why nothing was measured; then `report` has no sides
  bool is_kept = false;               ///< not measured now, but taken from what --resume holds
  // For --resume; older reports lack them.
  std::optional<std::uint64_t> seed = {};
  std::string input_values = {};  ///< a hash
  bool has_all_runs = false;
  std::optional<double> max_seconds = {};                ///< that it was given
  std::vector<std::string> model_states = {};            ///< of each side
  std::map<std::string, std::string> runtimes = {};      ///< "ONNX Runtime 1.31.1", by the backend's name
  std::optional<std::vector<std::string>> fastest = {};  ///< as fastest_of tells, where that is known already
};

/// The sides with right outputs that are not clearly slower than the one with the lowest median, that one among them; none where none was measured.
/// That takes a while for many rounds.
std::vector<std::string> fastest_of(const Benchmark& benchmark);

/// "net.onnx, batch 8, 2 threads"
std::string setting_of(const Benchmark& benchmark);

/// Whether two have the same model, batch, threads and sizes of inputs, where both tell those.
bool is_same_setting(const Benchmark& a, const Benchmark& b);

/// A name as it is read back from JSON, which has no bytes that are not UTF-8.
std::string in_json(const std::string& name);

enum class BenchFormat { text, json, csv, markdown };

struct BenchComparison;

std::string bench_text(const std::vector<Benchmark>& benchmarks, bool color);
/// With what has changed since an earlier report, where there is one.
std::string bench_json(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison = nullptr);
std::string bench_csv(const std::vector<Benchmark>& benchmarks);
std::string bench_markdown(const std::vector<Benchmark>& benchmarks);
/// What tables do not say, a line for each: reasons of failures, warnings.
std::string bench_remarks_text(const std::vector<Benchmark>& benchmarks);

/// A page with all figures, that fetches nothing, and what has changed since an earlier report, where there is one.
std::string bench_html(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison = nullptr);
/// The profiles as a trace of events, which Perfetto and chrome://tracing open.
std::string bench_trace(const std::vector<Benchmark>& benchmarks);

/// The way back of bench_json. `path` is that of the text, for messages. Errors: json-syntax, not-supported (of a newer version).
Result<std::vector<Benchmark>> benchmarks_in(const std::string& text, const std::string& path);

/// A side that both reports have, and how much longer it takes in the second; or one that could not be measured at all in one of them.
struct BenchChange {
  std::string model;
  std::optional<std::int64_t> batch, threads;
  std::string side;  ///< empty where the model could be measured on none, neither before nor now
  std::optional<Ratio> ratio;
  double before = 0, after = 0;  ///< medians in seconds, 0 where there is none
  bool is_slower = false;        ///< by more than is allowed, and surely
  bool is_worse = false;         ///< it failed or answered wrong, and did not before
  std::string remark;            ///< on what it did, or why there is no ratio
};

struct BenchComparison {
  std::vector<BenchChange> changes;
  std::vector<std::string> only_before, only_after;  ///< "net.onnx, openvino": what one report alone has
  std::vector<std::string> differences;              ///< in what the two were measured on
  std::vector<std::string> disturbances;             ///< warnings of reports that lost processors to others
  double most = 0;                                   ///< the slowdown that is allowed, 0.05 for 5 %
};
BenchComparison compare_benchmarks(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                   double most);
std::string comparison_text(const BenchComparison& comparison, bool color);
std::string comparison_markdown(const BenchComparison& comparison);
std::string comparison_csv(const BenchComparison& comparison);
/// What the table does not say, a line for each.
std::string comparison_remarks_text(const BenchComparison& comparison);

/// Whether a side failed, or answered wrong.
bool has_finding(const std::vector<Benchmark>& benchmarks);

}  // namespace onnxkit::tools
