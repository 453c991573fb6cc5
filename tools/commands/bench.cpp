#include "onnxkit/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"
#include "tools/bench/arguments.h"
#include "tools/bench/compare.h"
#include "tools/bench/plans.h"
#include "tools/bench/sweep.h"
#include "tools/command.h"
#include "tools/options/choice.h"
#include "tools/options/duration.h"
#include "tools/options/number.h"

namespace onnxkit::tools {
namespace {

std::string report_text(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison,
                        const BenchArguments& arguments) {
  const bool color = color_on(arguments.color, stdout);
  switch (arguments.format) {
    case BenchFormat::json:
      return bench_json(benchmarks, comparison);
    case BenchFormat::csv:
      return bench_csv(benchmarks);
    case BenchFormat::markdown:
      return bench_markdown(benchmarks) + (comparison ? "\n" + comparison_markdown(*comparison) : "");
    default:
      return bench_text(benchmarks, color) + (comparison ? comparison_text(*comparison, color) : "");
  }
}

/// Options that cannot hold together, before anything runs.
Result<void> check_options(const BenchArguments& arguments) {
  const bool is_shown = !arguments.report.empty() || !arguments.trace.empty();
  if (arguments.format == BenchFormat::csv && arguments.bench.profiles && !is_shown)
    return make_error("usage", "--format csv has no place for what --profile tells: add --report or --trace");
  if (auto checked = check_bench_streams(arguments); !checked) return checked;
  return check_bench_files(arguments);
}

/// What a table of numbers cannot hold goes to standard error.
void print_remarks(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison,
                   const BenchArguments& arguments) {
  note(arguments.notes, bench_remarks_text(benchmarks));
  if (comparison) std::fputs(comparison_text(*comparison, color_on(arguments.color, stderr)).c_str(), stderr);
}

/// "2 of 3 measurements come from done.json"
void tell_kept(const BenchSweep& sweep, const BenchArguments& arguments) {
  const auto kept =
      std::count_if(sweep.benchmarks.begin(), sweep.benchmarks.end(), [](const Benchmark& one) { return one.is_kept; });
  const std::size_t all = sweep.benchmarks.size();
  if (kept > 0)
    note(arguments.notes, fmt::format("{} of {} {} {} from {}\n", kept, all, all == 1 ? "measurement" : "measurements",
                                      kept == 1 ? "comes" : "come", quote(arguments.resume)));
  if (sweep.outdated > 0)
    note(arguments.notes, fmt::format("{} of {} {} made again: a model or a runtime has changed since\n",
                                      sweep.outdated, quote(arguments.resume), sweep.outdated == 1 ? "was" : "were"));
}

/// Prints what a sweep came to, and writes its files.
Outcome finish_sweep(const BenchSweep& sweep, const std::vector<Benchmark>& baseline, double most,
                     const BenchArguments& arguments) {
  const std::vector<Benchmark>& benchmarks = sweep.benchmarks;
  std::optional<Result<BenchComparison>> compared;
  if (!arguments.baseline.empty()) compared = compare_reports(baseline, benchmarks, most);
  const BenchComparison* comparison = compared && *compared ? &**compared : nullptr;
  std::fputs(report_text(benchmarks, comparison, arguments).c_str(), stdout);
  if (arguments.format == BenchFormat::csv) print_remarks(benchmarks, comparison, arguments);
  tell_kept(sweep, arguments);
  Outcome outcome = has_finding(benchmarks) ? Outcome::finding : Outcome::ok;
  if (compared) {
    const Outcome found = comparison ? finish_comparison(*comparison) : report_error(compared->error());
    if (found != Outcome::ok) outcome = found;
  }
  if (sweep.unkept) outcome = report_error(*sweep.unkept);
  if (auto written = write_bench_files(benchmarks, comparison, arguments); !written)
    outcome = report_error(written.error());
  const bool any_failed = std::any_of(benchmarks.begin(), benchmarks.end(),
                                      [](const Benchmark& benchmark) { return benchmark.failure.has_value(); });
  return sweep.was_stopped || any_failed ? Outcome::failure : outcome;
}

Outcome run_bench(BenchArguments& arguments, const CLI::App& command) {
  const ErrorReporter reporter = arguments.reporter();
  const auto most = share_named(arguments.max_slowdown);
  if (!most) return reporter(most.error());
  if (command.count("--max-slowdown") > 0 && !arguments.compares && arguments.baseline.empty())
    return reporter(make_error("usage", "--max-slowdown is for --baseline and --compare: there is nothing to compare"));
  if (arguments.compares) return run_comparison(arguments, command, *most);
  if (auto checked = check_options(arguments); !checked) return reporter(checked.error());
  auto context = Context::make({.schemas = arguments.inference.schemas, .workers = worker_settings(arguments.workers)});
  if (!context) return reporter(context.error());
  arguments.bench.context = *std::move(context);
  arguments.bench.max_seconds = static_cast<double>(arguments.max_time_ms) / 1000;
  arguments.bench.judges = !arguments.no_judging;
  std::vector<Benchmark> baseline;
  if (!arguments.baseline.empty()) {
    auto read = read_benchmarks(arguments.baseline);
    if (!read) return reporter(read.error());
    baseline = *std::move(read);
  }
  expand_bench_models(arguments);
  name_backends(arguments);
  if (!arguments.baseline.empty()) {
    if (auto checked = check_baseline(baseline, arguments); !checked) return reporter(checked.error());
  }
  const auto threads = check_backends(arguments);
  if (!threads) return reporter(threads.error());
  warn_of_unused_limits(command, backend_names(arguments), arguments.bench.context);
  const auto sweep = run_sweep(arguments, *threads);
  return sweep ? finish_sweep(*sweep, baseline, *most, arguments) : reporter(sweep.error());
}

/// An option that takes a share within bounds.
CLI::Option* add_share(CLI::App& command, const std::string& name, double& target, double least, double most,
                       const std::string& what) {
  const auto take = [&target, name, least, most](const std::string& word) {
    const auto share = share_named(word);
    if (!share) throw CLI::ValidationError(name, share.error().diagnostic.message);
    if (*share < least || *share > most)
      throw CLI::ValidationError(name,
                                 quote(word) + fmt::format(" is not from {:g}% to {:g}%", 100 * least, 100 * most));
    target = *share;
  };
  return command.add_option_function<std::string>(name, take, what)
      ->type_name("X%")
      ->default_str(fmt::format("{:g}%", 100 * target));
}

void add_measuring(CLI::App& command, BenchArguments& arguments) {
  command
      .add_option("--batch", arguments.batches,
                  "Sizes of the first axis of every input that leaves it open; each is measured")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_between<1, std::uint64_t{1} << 31>);
  command
      .add_option("--threads", arguments.threads,
                  "Numbers of threads of every backend that has this option; each is measured")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_between<1, 1024>);
  add_share(command, "--precision-goal", arguments.bench.precision_goal, 0.0001, 1,
            "Measure until the intervals of each median and ratio are at most this share of it to both sides");
  add_duration(command, "--max-time", arguments.max_time_ms, "Longest time to measure one model in one setting",
               ZeroDuration::refused);
  command.add_option("--seed", arguments.bench.seed, "Seed of generated inputs, of the order of runs and of the noise")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_number);
  command.add_flag("--profile", arguments.bench.profiles,
                   "Also tell how long each operator and step takes, and what the machine could do");
  command.add_flag("--samples", arguments.bench.keeps_runs,
                   "Keep the times of all runs in JSON and on the page, not of 21 in each round");
  command.add_flag("--no-judging", arguments.no_judging, "Do not compare the outputs with the reference");
}

void add_reports(CLI::App& command, BenchArguments& arguments) {
  add_choice<BenchFormat>(command, "--format", arguments.format,
                          {{"text", BenchFormat::text},
                           {"json", BenchFormat::json},
                           {"csv", BenchFormat::csv},
                           {"markdown", BenchFormat::markdown}},
                          "Form of the report");
  add_choice<ColorChoice>(
      command, "--color", arguments.color,
      {{"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}},
      "Whether text is coloured");
  command.add_option("--report", arguments.report, "Write an HTML page with plots to this file")
      ->type_name("FILE.html");
  command
      .add_option("--trace", arguments.trace,
                  "Write the steps of a profiled run as events that Perfetto opens; implies --profile")
      ->type_name("FILE.json");
  command
      .add_option("--resume", arguments.resume,
                  "Keep each finished measurement in this file, and do not repeat those that are there, "
                  "but for what failed")
      ->type_name("FILE.json");
  command
      .add_option("--baseline", arguments.baseline,
                  "Report of an earlier run (--format json) to compare with, - for standard input")
      ->type_name("FILE.json");
  command
      .add_option("--max-slowdown", arguments.max_slowdown,
                  "With --baseline or --compare: slowdown from which on the exit status is 1")
      ->type_name("X%")
      ->capture_default_str();
  command.add_flag("--compare", arguments.compares, "Compare two reports (--format json), the older one first");
}

}  // namespace

void register_bench(CommandList& list) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = list.app().add_subcommand("bench", "Measure how long models take on several backends");
  command
      ->add_option("MODEL", arguments->models,
                   "Models: ONNX files, folders and patterns of them, measured one after another; with BACKEND:FILE "
                   "among them, such as "
                   "torch:net.pt2 or openvino:net.onnx, all are measured together")
      ->type_name("")
      ->required();
  command
      ->add_option("--backends,-b", arguments->backends,
                   "What runs each ONNX model: names such as reference,onnxruntime,openvino, each with options as in "
                   "onnxruntime:optimization=none; the first is what others are compared with. Default: "
                   "reference,onnxruntime; the reference alone where models are measured together")
      ->type_name("BACKEND,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_measuring(*command, *arguments);
  add_inputs(*command, arguments->inputs);
  add_inference(*command, arguments->inference);
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  add_reports(*command, *arguments);
  add_notes(*command, arguments->notes, "Print neither progress nor remarks to standard error");
  command->footer(
      "Exit status: 0 fine, 1 a backend failed, an output is wrong, or a slowdown is larger than allowed, 2 wrong "
      "usage, 3 a model or a file could not be read or written, the measurement was stopped, or nothing could be "
      "compared.\n"
      "Examples:\n"
      "  onnxkit bench model.onnx -b onnxruntime,openvino\n"
      "  onnxkit bench model.onnx -b onnxruntime --batch 1,8,64 --threads 1,2\n"
      "  onnxkit bench model.onnx -b onnxruntime --format json > new.json\n"
      "  onnxkit bench old.json new.json --compare         what has changed");
  list.add(command, [arguments, command] { return run_bench(*arguments, *command); });
}

}  // namespace onnxkit::tools
