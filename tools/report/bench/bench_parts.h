#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/bench/bench.h"

// What the reports of `bench` share.
namespace onnxkit::tools {

inline constexpr std::string_view bench_red = "\x1b[1;31m";

/// What --format json writes.
Json bench_object(const std::vector<Benchmark>& benchmarks);
Json bench_ratio_json(const Ratio& ratio);
Json comparison_json(const BenchComparison& comparison);

/// Text in a cell: without control characters, and with an apostrophe before what a spreadsheet would take for a formula.
std::string csv_text(const std::string& text);

/// Whether it failed or answered wrong.
bool bench_is_wrong(const BenchSideReport& side);
/// The side that ratios are to: the first that was measured; null where none was.
const BenchSideReport* bench_base(const BenchReport& report);
/// "0.71 x (0.69 to 0.73)"
std::string bench_ratio_text(const std::optional<Ratio>& ratio);
/// Runs a second by the median, with --batch what they hold along the first axis.
std::optional<double> bench_rate(const Benchmark& benchmark, const BenchSideReport& side);
/// "rounding (bfloat16)", "not judged", "failed at load"
std::string bench_verdict_text(const BenchSideReport& side);
/// In one line what failed, where, and what is said of it: "the operator has no definition (main / node 3 Foo); ..."
std::string bench_failure_text(const Error& error);
/// "1 thread reaches 108 GFLOP/s and 12.1 GB/s"
std::string bench_roof_text(const BenchRoof& roof);

/// Steps of one operator together.
struct OperatorTime {
  std::string op;
  double seconds = 0;
  std::uint64_t steps = 0, calls = 0;
  std::optional<double> operations, bytes, floor;  ///< nothing where one step has none
};
/// Those that take longest first.
std::vector<OperatorTime> operator_times(const BenchProfile& profile);

/// Positions of the steps in which most can be won: where they are above what the machine could do, else where they take longest. Steps in which nothing
/// can be won are not among them.
std::vector<std::size_t> steps_to_win(const BenchProfile& profile, std::size_t most);

/// Tables of what the sides were profiled to do, or why not; empty without profiles.
std::string bench_profiles_text(const BenchReport& report);
std::string bench_profiles_markdown(const BenchReport& report);

/// Of several benchmarks a table with a row for each and a column for each backend; empty for one.
std::string bench_summary_text(const std::vector<Benchmark>& benchmarks);
std::string bench_summary_markdown(const std::vector<Benchmark>& benchmarks);

}  // namespace onnxkit::tools
