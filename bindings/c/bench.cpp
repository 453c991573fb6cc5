#include "onnxkit/bench.h"

#include <set>
#include <string_view>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "bindings/c/sides.h"
#include "tools/actions/threads.h"
#include "tools/report/bench/bench.h"

namespace onnxkit::c {
namespace {

using tools::Benchmark, tools::BenchComparison;

constexpr const char* threads_option = "the option \"threads\":";

struct Measurement {
  SideOptions sides;
  DimSettings dims;
  std::uint64_t threads = 0;  ///< of every backend that has this option; 0 leaves it to them
  BenchOptions options;
};

Result<void> read_precision(OptionReader& options, BenchOptions& bench) {
  std::optional<double> goal, most;
  options.read("precision_goal", goal);
  options.read("max_seconds", most);
  if (goal && (*goal < 0.0001 || *goal > 1))
    return make_error("usage", "the option \"precision_goal\" must be from 0.0001 to 1");
  if (most && !(*most > 0 && *most <= 1e9)) return make_error("usage", "the option \"max_seconds\" must be above 0");
  bench.precision_goal = goal.value_or(bench.precision_goal);
  bench.max_seconds = most.value_or(bench.max_seconds);
  return {};
}

Result<Measurement> measurement_of(const char* text, const onnxkit_stop* stop) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  Measurement measurement;
  BenchOptions& bench = measurement.options;
  measurement.sides = side_options_of(*options);
  measurement.dims = dims_of(*options);
  const auto precision = read_precision(*options, bench);
  options->read("seed", bench.seed);
  options->read("profile", bench.profiles);
  options->read("all_runs", bench.keeps_runs);
  options->read("judge", bench.judges);
  options->read("threads", measurement.threads);
  options->read("memory_bytes", bench.limits.memory_bytes);
  options->read("allow_outside_data", bench.allow_outside_data);
  auto context = worker_context_of(*options);
  if (!context) return context.error();
  if (!precision) return precision.error();
  if (measurement.threads > 1024) return make_error("usage", "the option \"threads\" must be at most 1024");
  bench.context = *std::move(context);
  bench.stop = token_of(stop);
  return measurement;
}

/// Every side with the threads that are asked for; what is said of those that cannot have them.
Result<std::vector<std::string>> with_threads(std::vector<DiffSide>& sides, const Measurement& measurement) {
  if (measurement.threads == 0) return std::vector<std::string>();
  const auto threads = static_cast<std::int64_t>(measurement.threads);
  std::set<std::string> backends;
  for (const DiffSide& side : sides) {
    if (auto checked = tools::check_threads(threads, side.backend, side.options, threads_option); !checked)
      return checked.error();
    backends.insert(side.backend);
  }
  const auto known = tools::thread_options(backends, measurement.options.context, threads_option);
  if (!known) return known.error();
  return tools::set_threads(sides, threads, *known, threads_option);
}

Result<std::string> measured(const std::vector<std::shared_ptr<const Model>>& models, const onnxkit_values* inputs,
                             const Measurement& measurement) {
  auto sides = sides_of(models, measurement.sides);
  if (!sides) return sides.error();
  for (const DiffSide& side : *sides)
    if (auto checked = check_backend(side.backend, side.options, measurement.options.context); !checked)
      return checked.error();
  const auto warnings = with_threads(*sides, measurement);
  if (!warnings) return warnings.error();
  const BenchOptions& options = measurement.options;
  const auto given = inputs ? inputs->list : std::vector<NamedValue>();
  const auto set = set_of(*models.front(), given.empty() ? "generated" : "given", given,
                          {measurement.dims, options.seed, options.context, options.stop});
  if (!set) return set.error();
  auto report = bench(*sides, *set, options);
  if (!report) return report.error();
  const std::string path = models.front()->path().string();
  Benchmark benchmark{path.empty() ? "model" : path, std::nullopt, std::nullopt, *std::move(report)};
  if (measurement.threads > 0) benchmark.threads = static_cast<std::int64_t>(measurement.threads);
  benchmark.report.warnings.insert(benchmark.report.warnings.end(), warnings->begin(), warnings->end());
  benchmark.seed = options.seed;
  benchmark.has_all_runs = options.keeps_runs;
  benchmark.max_seconds = options.max_seconds;
  benchmark.fastest = tools::fastest_of(benchmark);
  return tools::bench_json({benchmark});
}

enum class Form { text, json, csv, markdown, html, trace };

struct Formatting {
  Form form = Form::text;
  std::string before;
  double most = 0.05;
};

Result<Formatting> formatting_of(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  Formatting formatting;
  options->read_word("format", formatting.form,
                     {{"text", Form::text},
                      {"json", Form::json},
                      {"csv", Form::csv},
                      {"markdown", Form::markdown},
                      {"html", Form::html},
                      {"trace", Form::trace}});
  options->read("before", formatting.before);
  std::optional<double> most;
  options->read("max_slowdown", most);
  if (auto read = options->finish(); !read) return read.error();
  formatting.most = most.value_or(formatting.most);
  return formatting;
}

Result<BenchComparison> compared(const std::vector<Benchmark>& now, const Formatting& formatting) {
  const auto before = tools::benchmarks_in(formatting.before, "before");
  if (!before) return before.error();
  BenchComparison comparison = tools::compare_benchmarks(*before, now, formatting.most);
  if (comparison.changes.empty())
    return make_error("not-supported",
                      "the two reports have no measurement in common: model, threads, types and sizes of inputs, and "
                      "backend have to be the same");
  return comparison;
}

std::string formatted(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison, Form form) {
  switch (form) {
    case Form::text:
      return comparison ? tools::comparison_text(*comparison, false) : tools::bench_text(benchmarks, false);
    case Form::json:
      return tools::bench_json(benchmarks, comparison);
    case Form::csv:
      return comparison ? tools::comparison_csv(*comparison) : tools::bench_csv(benchmarks);
    case Form::markdown:
      return comparison ? tools::comparison_markdown(*comparison) : tools::bench_markdown(benchmarks);
    case Form::html:
      return tools::bench_html(benchmarks, comparison);
    case Form::trace:
      break;
  }
  return tools::bench_trace(benchmarks);
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_bench(const onnxkit_model* const* models, size_t model_count, const onnxkit_values* inputs,
                             const char* options, const onnxkit_stop* stop, onnxkit_text** report) {
  return reported(report, [&]() -> Result<std::string> {
    const auto owned = models_of(models, model_count);
    if (!owned) return owned.error();
    const auto measurement = measurement_of(options, stop);
    if (!measurement) return measurement.error();
    return measured(*owned, inputs, *measurement);
  });
}

onnxkit_error* onnxkit_bench_format(const char* report, size_t size, const char* options, onnxkit_text** text) {
  return reported(text, [&]() -> Result<std::string> {
    if (auto there = needs(report, "report"); !there) return there.error();
    const auto formatting = formatting_of(options);
    if (!formatting) return formatting.error();
    const auto benchmarks = tools::benchmarks_in(std::string(report, size), "report");
    if (!benchmarks) return benchmarks.error();
    if (formatting->before.empty()) return formatted(*benchmarks, nullptr, formatting->form);
    const auto comparison = compared(*benchmarks, *formatting);
    if (!comparison) return comparison.error();
    return formatted(*benchmarks, &*comparison, formatting->form);
  });
}

}  // extern "C"
