#include "tools/bench/compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/bench/sweep.h"

namespace onnxkit::tools {
namespace {

/// The first option that was given and says how to measure, or nothing.
std::string measuring_option(const CLI::App& command) {
  constexpr std::array known = {"--compare", "--format", "--color",  "--max-slowdown",
                                "--config",  "--quiet",  "--verbose"};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional() || option->count() == 0) continue;
    const bool is_known =
        std::any_of(known.begin(), known.end(), [&](const char* name) { return option->check_name(name); });
    if (!is_known) return option->get_name();
  }
  return {};
}

std::string comparison_in(const BenchComparison& comparison, const BenchArguments& arguments) {
  switch (arguments.format) {
    case BenchFormat::json:
      return bench_json({}, &comparison);
    case BenchFormat::csv:
      return comparison_csv(comparison);
    case BenchFormat::markdown:
      return comparison_markdown(comparison);
    default:
      return comparison_text(comparison, color_on(arguments.color, stdout));
  }
}

}  // namespace

Result<BenchComparison> compare_reports(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                        double most) {
  BenchComparison comparison = compare_benchmarks(before, after, most);
  if (!comparison.changes.empty()) return comparison;
  return make_error("not-supported",
                    "the two reports have no measurement in common: model, batch, threads, types and sizes of inputs, "
                    "and backend have to be the same");
}

Outcome finish_comparison(const BenchComparison& comparison) {
  const auto& changes = comparison.changes;
  if (std::any_of(changes.begin(), changes.end(),
                  [](const BenchChange& change) { return change.is_slower || change.is_worse; }))
    return Outcome::finding;
  if (std::any_of(changes.begin(), changes.end(), [](const BenchChange& change) { return change.ratio.has_value(); }))
    return Outcome::ok;
  return report_error(make_error("not-supported", "nothing could be compared: " + changes.front().remark));
}

Outcome run_comparison(const BenchArguments& arguments, const CLI::App& command, double most) {
  const ErrorReporter reporter = arguments.reporter();
  if (const std::string option = measuring_option(command); !option.empty())
    return reporter(make_error("usage", "--compare measures nothing, so " + option + " has no meaning beside it"));
  if (arguments.models.size() != 2) return reporter(make_error("usage", "--compare takes two reports"));
  const auto before = read_benchmarks(arguments.models[0]), after = read_benchmarks(arguments.models[1]);
  if (!before) return reporter(before.error());
  if (!after) return reporter(after.error());
  const auto comparison = compare_reports(*before, *after, most);
  if (!comparison) return reporter(comparison.error());
  std::fputs(comparison_in(*comparison, arguments).c_str(), stdout);
  return finish_comparison(*comparison);
}

}  // namespace onnxkit::tools
