#include "onnxkit/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/run.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/options/choice.h"
#include "tools/options/diff_files.h"
#include "tools/options/duration.h"
#include "tools/options/inference.h"
#include "tools/options/inputs.h"
#include "tools/options/notes.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/options/sides.h"
#include "tools/options/workers.h"
#include "tools/progress.h"
#include "tools/report/bench/bench.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

struct BenchArguments {
  std::vector<std::string> models, backends;
  std::vector<std::int64_t> batches, threads;
  InputOptions inputs;
  InferenceOptions inference;
  WorkerOptions workers;
  BenchOptions bench;
  std::uint64_t max_time_ms = 30'000;
  bool no_judging = false;
  std::string baseline, max_slowdown = "5%", report, trace, resume;
  bool compares = false;
  BenchFormat format = BenchFormat::text;
  ColorChoice color = ColorChoice::automatic;
  Notes notes = Notes::usual;
};

ErrorReporter reporter(const BenchArguments& arguments) { return {"bench", arguments.format == BenchFormat::json}; }

/// "5%" or "0.05" as 0.05. A bare 5 is refused: who writes it does not mean 500 %.
Result<double> share_named(const std::string& word) {
  const bool is_percent = word.ends_with('%');
  const std::string digits = is_percent ? word.substr(0, word.size() - 1) : word;
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || !(value >= 0))
    return make_error("usage", quote(word) + " is not a share such as 5%");
  if (!is_percent && value >= 1)
    return make_error("usage", fmt::format("{} would be {:g} %; write a share such as 5%", quote(word), 100 * value));
  return is_percent ? value / 100 : value;
}

/// The models that are sides of one comparison; ONNX files alone are measured one after another.
std::vector<std::vector<std::string>> comparisons(const std::vector<std::string>& models) {
  const bool all_onnx = std::all_of(models.begin(), models.end(), [](const std::string& model) {
    const auto sides = read_sides({model}, {});
    return !sides || std::all_of(sides->begin(), sides->end(), [](const DiffSide& side) { return side.model; });
  });
  if (!all_onnx) return {models};
  std::vector<std::vector<std::string>> each;
  for (const std::string& model : models) each.push_back({model});
  return each;
}

/// The first axis of every input that leaves it open; the names of those axes go to `named`.
Result<void> set_batch(Model& model, std::int64_t batch, std::map<std::string, std::int64_t>& named) {
  DimSettings dims;
  for (const std::string& name : input_names(model)) dims.sizes.emplace(name + "[0]", batch);
  auto left = declare_dims(model, dims, DeclaredSizes::keep);
  if (!left) return left.error();
  named.merge(*left);
  return {};
}

Result<InputSet> inputs_for(const Model& model, const BenchArguments& arguments, std::optional<std::int64_t> batch) {
  Model declared = model;
  auto dims = declare_dims(declared, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return dims.error();
  if (batch) {
    if (auto set = set_batch(declared, *batch, *dims); !set) return set.error();
  }
  auto given = read_given(declared, arguments.inputs.inputs, arguments.inputs);
  if (!given) return given.error();
  RunOptions options;
  options.dims = *std::move(dims);
  options.context = arguments.bench.context;
  options.seed = arguments.bench.seed;
  options.make_up_inputs = !arguments.inputs.given_only;
  auto complete = complete_inputs(declared, *std::move(given), options);
  if (!complete) return complete.error();
  InputSet set{arguments.inputs.inputs.empty() ? "generated" : "given",
               {},
               std::move(complete->notes),
               std::move(complete->help)};
  for (RunInput& input : complete->inputs) set.values.push_back({std::move(input.name), std::move(input.value)});
  return set;
}

/// Every side with so many threads, where its backend has that option.
void set_threads(std::vector<DiffSide>& sides, std::int64_t threads, const Context& context) {
  for (DiffSide& side : sides) {
    for (const BackendInfo& info : backends({.context = context, .names = {side.backend}}))
      if (info.options.contains("threads")) side.options["threads"] = std::to_string(threads);
  }
}

/// One measurement of all that are asked for.
struct BenchPlan {
  std::vector<std::string> models;
  std::optional<std::int64_t> batch, threads;
};

std::vector<std::optional<std::int64_t>> settings(const std::vector<std::int64_t>& given) {
  if (given.empty()) return {std::nullopt};
  return {given.begin(), given.end()};
}

std::vector<BenchPlan> bench_plans(const BenchArguments& arguments) {
  std::vector<BenchPlan> plans;
  for (const std::vector<std::string>& models : comparisons(arguments.models)) {
    for (const auto batch : settings(arguments.batches)) {
      for (const auto threads : settings(arguments.threads)) plans.push_back({models, batch, threads});
    }
  }
  return plans;
}

Result<std::vector<DiffSide>> bench_sides(const BenchPlan& plan, const BenchArguments& arguments) {
  auto sides = read_sides(plan.models, arguments.backends);
  if (sides && plan.threads) set_threads(*sides, *plan.threads, arguments.bench.context);
  return sides;
}

Result<InputSet> inputs_of(const BenchPlan& plan, const std::vector<DiffSide>& sides, const BenchArguments& arguments) {
  const auto with_model = std::find_if(sides.begin(), sides.end(), [](const DiffSide& side) { return side.model; });
  if (with_model == sides.end())
    return make_error("usage", "at least one side must be an ONNX model, which defines the inputs");
  return inputs_for(*with_model->model, arguments, plan.batch);
}

bool wants_profiles(const BenchArguments& arguments) { return arguments.bench.profiles || !arguments.trace.empty(); }

Result<Benchmark> measure(const BenchPlan& plan, const std::vector<DiffSide>& sides, const InputSet& inputs,
                          const BenchArguments& arguments) {
  BenchOptions options = arguments.bench;
  if (plan.threads) options.limits.threads = static_cast<int>(*plan.threads);
  options.profiles = wants_profiles(arguments);
  const Interrupt interrupt;
  options.stop = interrupt.token();
  Progress progress("measuring " + plan.models.front(), 1, arguments.notes);
  progress.start(plan.models.front());
  auto report = bench(sides, inputs, options);
  if (!report) return report.error();
  return Benchmark{plan.models.front(), plan.batch, plan.threads, *std::move(report)};
}

std::string report_text(const std::vector<Benchmark>& benchmarks, const BenchArguments& arguments) {
  switch (arguments.format) {
    case BenchFormat::json:
      return bench_json(benchmarks);
    case BenchFormat::csv:
      return bench_csv(benchmarks);
    case BenchFormat::markdown:
      return bench_markdown(benchmarks);
    default:
      return bench_text(benchmarks, color_on(arguments.color, stdout));
  }
}

Outcome print_changes(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after, double most,
                      const BenchArguments& arguments, std::FILE* stream) {
  const std::vector<BenchChange> changes = compare_benchmarks(before, after, most);
  if (changes.empty()) {
    const Error none = make_error("not-supported",
                                  "the two reports have no measurement in common: model, batch, threads, types and "
                                  "sizes of inputs, and backend have to be the same");
    return arguments.compares ? reporter(arguments)(none) : report_error(none);
  }
  std::fputs(changes_text(changes, color_on(arguments.color, stream)).c_str(), stream);
  const auto remark = [&](std::size_t count, const char* which) {
    if (count > 0) fmt::print(stream, "  not compared: {} that only the {} report has\n", count, which);
  };
  remark(count_of_others(before, after), "older");
  remark(count_of_others(after, before), "newer");
  const bool is_finding = std::any_of(changes.begin(), changes.end(),
                                      [](const BenchChange& change) { return change.is_slower || change.is_worse; });
  return is_finding ? Outcome::finding : Outcome::ok;
}

Result<std::vector<Benchmark>> read_benchmarks(const std::string& path) {
  const auto text = read_file(path);
  return text ? benchmarks_in(*text, path) : Result<std::vector<Benchmark>>(text.error());
}

Outcome compare_reports(const BenchArguments& arguments, double most) {
  if (arguments.models.size() != 2) return reporter(arguments)(make_error("usage", "--compare takes two reports"));
  const auto before = read_benchmarks(arguments.models[0]), after = read_benchmarks(arguments.models[1]);
  if (!before) return reporter(arguments)(before.error());
  if (!after) return reporter(arguments)(after.error());
  return print_changes(*before, *after, most, arguments, stdout);
}

/// Whether a stored measurement has what is asked for now: profiles, and verdicts or why there are none.
bool is_complete(const BenchSideReport& side, const BenchArguments& arguments) {
  if (side.failure) return true;
  return (!wants_profiles(arguments) || side.profile || !side.unprofiled.empty()) &&
         (arguments.no_judging || side.verdict || !side.why.empty());
}

/// Whether a stored measurement is of these sides in this setting.
bool is_same(const Benchmark& stored, const Benchmark& planned, const std::vector<DiffSide>& sides) {
  const auto is_same_side = [](const BenchSideReport& report, const DiffSide& side) {
    return report.label == side.label && report.backend == side.backend && report.options == side.options;
  };
  return is_same_setting(stored, planned) &&
         std::equal(stored.report.sides.begin(), stored.report.sides.end(), sides.begin(), sides.end(), is_same_side);
}

/// Every model in every setting. What --resume holds is not measured again, and what was measured is put there at once.
Result<std::vector<Benchmark>> measure_all(const BenchArguments& arguments) {
  std::vector<Benchmark> stored, benchmarks;
  std::error_code unseen;
  if (!arguments.resume.empty() && std::filesystem::exists(arguments.resume, unseen)) {
    auto read = read_benchmarks(arguments.resume);
    if (!read) return read.error();
    stored = *std::move(read);
  }
  for (const BenchPlan& plan : bench_plans(arguments)) {
    auto sides = bench_sides(plan, arguments);
    if (!sides) return sides.error();
    auto inputs = inputs_of(plan, *sides, arguments);
    if (!inputs) return inputs.error();
    Benchmark planned{plan.models.front(), plan.batch, plan.threads, {}};
    planned.report.input_types = bench_inputs(*inputs);
    const auto known = std::find_if(stored.begin(), stored.end(),
                                    [&](const Benchmark& benchmark) { return is_same(benchmark, planned, *sides); });
    if (known != stored.end()) {
      const auto& reports = known->report.sides;
      if (std::all_of(reports.begin(), reports.end(),
                      [&](const BenchSideReport& side) { return is_complete(side, arguments); })) {
        benchmarks.push_back(*known);
        continue;
      }
      stored.erase(known);
    }
    auto benchmark = measure(plan, *sides, *inputs, arguments);
    if (!benchmark) return benchmark.error();
    benchmarks.push_back(*std::move(benchmark));
    if (benchmarks.back().report.cancelled) break;
    if (arguments.resume.empty()) continue;
    stored.push_back(benchmarks.back());
    if (auto kept = replace_file(arguments.resume, bench_json(stored)); !kept) return kept.error();
  }
  return benchmarks;
}

/// Before anything runs: what the files that will be written may not replace, and that they have a folder.
Result<void> check_output(const BenchArguments& arguments) {
  Result<void> checked;
  if (!arguments.report.empty()) checked = check_report(arguments.report);
  if (checked && !arguments.trace.empty()) checked = check_trace(arguments.trace);
  if (checked && !arguments.resume.empty()) checked = check_new_file(arguments.resume);
  return checked;
}

Result<void> write_files(const std::vector<Benchmark>& benchmarks, const BenchArguments& arguments) {
  if (!arguments.report.empty()) {
    if (auto written = replace_file(arguments.report, bench_html(benchmarks)); !written) return written;
  }
  return arguments.trace.empty() ? Result<void>() : replace_file(arguments.trace, bench_trace(benchmarks));
}

Outcome run_bench(BenchArguments& arguments) {
  const auto most = share_named(arguments.max_slowdown);
  if (!most) return reporter(arguments)(most.error());
  if (arguments.compares) return compare_reports(arguments, *most);
  if (auto checked = check_output(arguments); !checked) return reporter(arguments)(checked.error());
  auto context = Context::make({.schemas = arguments.inference.schemas, .workers = worker_settings(arguments.workers)});
  if (!context) return reporter(arguments)(context.error());
  arguments.bench.context = *std::move(context);
  arguments.bench.max_seconds = static_cast<double>(arguments.max_time_ms) / 1000;
  arguments.bench.judges = !arguments.no_judging;
  std::vector<Benchmark> baseline;
  if (!arguments.baseline.empty()) {
    auto read = read_benchmarks(arguments.baseline);
    if (!read) return reporter(arguments)(read.error());
    baseline = *std::move(read);
  }
  auto measured = measure_all(arguments);
  if (!measured) return reporter(arguments)(measured.error());
  const std::vector<Benchmark>& benchmarks = *measured;
  std::fputs(report_text(benchmarks, arguments).c_str(), stdout);
  if (auto written = write_files(benchmarks, arguments); !written) return report_error(written.error());
  const bool cancelled = std::any_of(benchmarks.begin(), benchmarks.end(),
                                     [](const Benchmark& benchmark) { return benchmark.report.cancelled; });
  Outcome outcome = has_finding(benchmarks) ? Outcome::finding : Outcome::ok;
  if (!arguments.baseline.empty()) {
    std::FILE* stream = arguments.format == BenchFormat::text ? stdout : stderr;
    const Outcome compared = print_changes(baseline, benchmarks, *most, arguments, stream);
    if (compared != Outcome::ok && !cancelled) outcome = compared;
  }
  return cancelled ? Outcome::failure : outcome;
}

void add_measuring(CLI::App& command, BenchArguments& arguments) {
  command.add_option("--batch", arguments.batches, "Sizes of the first axis of every input; each is measured")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  command.add_option("--threads", arguments.threads, "Numbers of threads of every backend; each is measured")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--precision-goal", arguments.bench.precision_goal,
                  "Measure until the 95 % interval of each median is at most this share of it to both sides")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::Range(0.0001, 1.0));
  add_duration(command, "--max-time", arguments.max_time_ms, "Longest time to measure one model in one setting",
               ZeroDuration::refused);
  command.add_option("--seed", arguments.bench.seed, "Seed of generated inputs, of the order of runs and of the noise")
      ->type_name("N")
      ->capture_default_str();
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
                  "Keep each finished measurement in this file, and do not repeat those that are there")
      ->type_name("FILE.json");
  command.add_option("--baseline", arguments.baseline, "Report of an earlier run (--format json) to compare with")
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
                   "Models: ONNX files, measured one after another; with BACKEND:FILE among them, such as "
                   "torch:net.pt2, all are measured together")
      ->type_name("")
      ->required();
  command
      ->add_option("--backends,-b", arguments->backends,
                   "What runs each ONNX model: names such as reference,onnxruntime,openvino, each with options as in "
                   "onnxruntime:optimization=none; the first is what others are compared with")
      ->type_name("NAME,...")
      ->delimiter(',');
  add_measuring(*command, *arguments);
  add_inputs(*command, arguments->inputs);
  add_inference(*command, arguments->inference);
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  add_reports(*command, *arguments);
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 1 a backend failed, an output is wrong, or a slowdown is larger than allowed, 2 wrong "
      "usage, 3 a file could not be read, the measurement was stopped, or nothing could be compared.\n"
      "Examples:\n"
      "  onnxkit bench model.onnx -b onnxruntime,openvino\n"
      "  onnxkit bench model.onnx -b onnxruntime --batch 1,8,64 --threads 1,2\n"
      "  onnxkit bench model.onnx -b onnxruntime --format json > new.json\n"
      "  onnxkit bench old.json new.json --compare         what has changed");
  list.add(command, [arguments] { return run_bench(*arguments); });
}

}  // namespace onnxkit::tools
