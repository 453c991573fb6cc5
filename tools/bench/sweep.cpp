#include "tools/bench/sweep.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/diagnostic.h"
#include "tools/bench/resume.h"
#include "tools/bench/resume_lock.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/progress.h"

namespace onnxkit::tools {
namespace {

class Sweep {
 public:
  Sweep(const BenchArguments& arguments, const ThreadOptions& threads, std::vector<Benchmark> stored)
      : arguments_(arguments),
        threads_(threads),
        stored_(std::move(stored)),
        plans_(bench_plans(arguments)),
        progress_("measuring", plans_.size(), arguments.notes) {
    arguments_.bench.stop = interrupt_.token();
    arguments_.bench.profiles = arguments.wants_profiles();
  }

  Result<BenchSweep> run() {
    for (const BenchPlan& plan : plans_) {
      if (is_stopped()) break;
      Benchmark named = unmeasured(plan);
      progress_.at("measuring " + setting_of(named));
      auto benchmark = result_of(plan, named);
      progress_.advance();
      if (!benchmark) {
        named.failure = benchmark.error();
        named.report.cancelled = benchmark.error().kind == ErrorKind::cancelled;
      }
      sweep_.benchmarks.push_back(benchmark ? *std::move(benchmark) : std::move(named));
      if (sweep_.benchmarks.back().report.cancelled) sweep_.was_stopped = true;
    }
    if (sweep_.benchmarks.empty()) return stopped();
    add_those_not_begun();
    const bool is_one_comparison = plans_.front().models == plans_.back().models;
    const auto has_failed = [](const Benchmark& benchmark) { return benchmark.failure.has_value(); };
    if (is_one_comparison && std::all_of(sweep_.benchmarks.begin(), sweep_.benchmarks.end(), has_failed))
      return *sweep_.benchmarks.front().failure;
    return std::move(sweep_);
  }

 private:
  void add_those_not_begun() {
    for (std::size_t i = sweep_.benchmarks.size(); i < plans_.size(); ++i) {
      Benchmark& rest = sweep_.benchmarks.emplace_back(unmeasured(plans_[i]));
      rest.failure = make_error("cancelled", "not measured: the command was stopped before");
      rest.report.cancelled = true;
    }
  }

  static Error stopped() { return make_error("cancelled", "the measurement was stopped"); }

  bool is_stopped() {
    sweep_.was_stopped = sweep_.was_stopped || arguments_.bench.stop.stop_requested();
    return sweep_.was_stopped;
  }

  /// From what --resume holds, or measured; what was measured is kept there.
  Result<Benchmark> result_of(const BenchPlan& plan, const Benchmark& named) {
    auto setup = bench_setup(plan, arguments_, threads_);
    if (!setup) return setup.error();
    if (is_stopped()) return stopped();
    Benchmark planned = named;
    describe_inputs(planned, setup->inputs, arguments_.bench);
    if (!arguments_.resume.empty()) describe_setting(planned, setup->sides, arguments_.bench.context, origins_);
    const auto [known, is_up_to_date] = find_stored(stored_, planned, setup->sides);
    const bool is_known = known != stored_.end() && is_up_to_date;
    const std::vector<std::size_t> missing = is_known ? missing_sides(*known, arguments_) : std::vector<std::size_t>();
    if (is_known && missing.empty()) {
      Benchmark kept = *known;
      kept.report.reached_goal = is_as_precise(kept.report, arguments_.bench.precision_goal);
      return kept;
    }
    const bool completes = is_known && missing.size() < setup->sides.size();
    if (completes) setup->sides = chosen(std::move(setup->sides), missing);
    auto measured = measure(*setup, planned);
    if (is_stopped() && completes) measured = *known;                 // what was there before is worth more
    if (measured && is_stopped()) measured->report.cancelled = true;  // whatever was left to do, such as judging
    if (!measured || measured->report.cancelled) return measured;
    if (completes) *measured = with_sides(*known, missing, *std::move(measured));
    measured->fastest = fastest_of(*measured);
    if (known != stored_.end() && !is_up_to_date) ++sweep_.outdated;
    if (known != stored_.end()) stored_.erase(known);
    stored_.push_back(*measured);
    keep();
    return measured;
  }

  static std::vector<DiffSide> chosen(std::vector<DiffSide> sides, const std::vector<std::size_t>& which) {
    std::vector<DiffSide> these;
    for (const std::size_t i : which) these.push_back(std::move(sides[i]));
    return these;
  }

  Result<Benchmark> measure(const BenchSetup& setup, const Benchmark& planned) {
    BenchOptions options = arguments_.bench;
    // A bar has one label; lines follow that of their model.
    const std::string bar = arguments_.notes == Notes::steps ? std::string() : setting_of(planned) + ": ";
    options.on_step = [&](std::string_view step) { progress_.at(bar + without_controls(step)); };
    auto report = bench(setup.sides, setup.inputs, options);
    if (!report) return report.error();
    Benchmark measured = planned;
    measured.report = *std::move(report);
    measured.report.warnings.insert(measured.report.warnings.end(), setup.warnings.begin(), setup.warnings.end());
    return measured;
  }

  void keep() {
    if (arguments_.resume.empty()) return;
    std::vector<Benchmark> written = stored_;
    for (Benchmark& one : written) one.is_kept = false;
    auto kept = replace_file(arguments_.resume, bench_json(written));
    if (!kept && !sweep_.unkept) sweep_.unkept = kept.error();
  }

  const Interrupt interrupt_{Interrupt::Signals::interrupt_and_terminate};  // before the thread of the progress
  BenchArguments arguments_;
  const ThreadOptions& threads_;
  std::vector<Benchmark> stored_;
  KnownOrigins origins_;
  const std::vector<BenchPlan> plans_;
  Progress progress_;
  BenchSweep sweep_;
};

}  // namespace

Result<BenchSweep> run_sweep(const BenchArguments& arguments, const ThreadOptions& threads) {
  std::vector<Benchmark> stored;
  ResumeLock held;
  if (!arguments.resume.empty()) {
    auto lock = ResumeLock::take(arguments.resume);
    if (!lock) return lock.error();
    held = *std::move(lock);
  }
  std::error_code unseen;
  if (!arguments.resume.empty() && std::filesystem::is_regular_file(arguments.resume, unseen)) {
    auto read = read_benchmarks(arguments.resume);
    if (!read) return read.error();
    stored = *std::move(read);
    for (Benchmark& one : stored) {
      one.is_kept = true;
      if (!one.fastest) one.fastest = fastest_of(one);  // once, not at each writing
    }
  }
  return Sweep(arguments, threads, std::move(stored)).run();
}

Result<std::vector<Benchmark>> read_benchmarks(const std::string& path) {
  const bool is_stream = path == "-";
  const auto text = is_stream ? read_standard_input() : read_file(path);
  if (!text) return text.error();
  return benchmarks_in(*text, is_stream ? standard_input_name : path);
}

}  // namespace onnxkit::tools
