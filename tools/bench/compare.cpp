#include "tools/bench/compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"
#include "tools/bench/plans.h"
#include "tools/bench/sweep.h"
#include "tools/options/sides.h"
#include "tools/report/bench/bench_match.h"

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

/// "net.onnx, batch 8, onnxruntime, x float[8, 3]", or the setting alone where the model failed.
std::vector<std::string> measurements_of(const std::vector<Benchmark>& benchmarks) {
  std::vector<std::string> all;
  for (const Benchmark& one : benchmarks) {
    std::string inputs;
    for (const BenchInput& input : one.report.input_types)
      inputs += ", " + quote(input.name) + " " + without_controls(input.type);
    if (one.report.sides.empty()) all.push_back(setting_of(one) + inputs);
    for (const BenchSideReport& side : one.report.sides)
      all.push_back(setting_of(one) + ", " + without_controls(side.label) + inputs);
  }
  return all;
}

/// What will be measured: the sides as far as words tell them, without a look into models.
Result<Benchmark> planned_benchmark(const BenchPlan& plan, const BenchArguments& arguments) {
  Benchmark planned = unmeasured(plan);
  const std::size_t together = plan.models.size();
  const auto usual = arguments.backends.empty() ? usual_backends(together) : arguments.backends;
  for (const std::string& word : plan.models) {
    const auto [own_backend, path] = split_model(word);
    for (const std::string& runner : own_backend.empty() ? usual : std::vector{own_backend}) {
      const auto backend = parse_backend(runner);
      if (!backend) return backend.error();
      BenchSideReport& side = planned.report.sides.emplace_back();
      side.backend = backend->name;
      side.options = backend->options;
      side.model = path;
      side.label = (together > 1 ? path + " on " : "") + label_of(backend->name, backend->options);
    }
  }
  return planned;
}

Error nothing_in_common(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  constexpr std::size_t most = 10;
  Error error = make_error("not-supported",
                           "the two reports have no measurement in common: model, batch, threads, types and sizes of "
                           "inputs, and backend have to be the same");
  const auto add = [&](const std::vector<std::string>& all, const char* which) {
    if (all.empty()) error.diagnostic.notes.push_back(std::string("the ") + which + " report has no measurement");
    for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
      error.diagnostic.notes.push_back(std::string("the ") + which + " has " + all[i]);
    if (all.size() > most) error.diagnostic.notes.push_back(fmt::format("and {} more", all.size() - most));
  };
  add(before, "older");
  add(after, "newer");
  return error;
}

}  // namespace

Result<void> check_baseline(const std::vector<Benchmark>& baseline, const BenchArguments& arguments) {
  const BenchSides known(baseline);
  std::vector<Benchmark> all;
  for (const BenchPlan& plan : bench_plans(arguments)) {
    auto planned = planned_benchmark(plan, arguments);
    if (!planned) return {};  // what is wrong with a word is told later
    for (const BenchSideReport& side : planned->report.sides)
      if (known.find(*planned, side).side) return {};
    all.push_back(*std::move(planned));
  }
  return nothing_in_common(measurements_of(baseline), measurements_of(all));
}

Result<BenchComparison> compare_reports(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                        double most) {
  BenchComparison comparison = compare_benchmarks(before, after, most);
  if (!comparison.changes.empty()) return comparison;
  return nothing_in_common(measurements_of(before), measurements_of(after));
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
  if (arguments.models[0] == "-" && arguments.models[1] == "-")
    return reporter(make_error("usage", "standard input can only be read once"));
  const auto before = read_benchmarks(arguments.models[0]), after = read_benchmarks(arguments.models[1]);
  if (!before) return reporter(before.error());
  if (!after) return reporter(after.error());
  const auto comparison = compare_reports(*before, *after, most);
  if (!comparison) return reporter(comparison.error());
  std::fputs(comparison_in(*comparison, arguments).c_str(), stdout);
  if (arguments.format == BenchFormat::csv) note(arguments.notes, comparison_remarks_text(*comparison));
  return finish_comparison(*comparison);
}

}  // namespace onnxkit::tools
