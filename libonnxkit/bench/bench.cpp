#include "libonnxkit/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/bench/costs.h"
#include "libonnxkit/bench/gpus.h"
#include "libonnxkit/bench/judge.h"
#include "libonnxkit/bench/machine.h"
#include "libonnxkit/bench/profile.h"
#include "libonnxkit/bench/roof.h"
#include "libonnxkit/bench/rounds.h"
#include "libonnxkit/bench/stationary.h"
#include "libonnxkit/diff/side.h"

namespace onnxkit::benching {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string last_line(std::string_view log) {
  constexpr std::string_view blanks = " \t\r\n";
  log = log.substr(0, log.find_last_not_of(blanks) + 1);
  const std::size_t before = log.find_last_of("\r\n");
  return std::string(before == log.npos ? log : log.substr(before + 1));
}

/// One side while it is measured.
struct Contender {
  const DiffSide* source = nullptr;
  BenchSideReport* report = nullptr;
  SideReport side_report;
  std::unique_ptr<diffing::Side> side;
  std::vector<NamedValue> outputs;
  std::size_t warm_ups = 0;  ///< one for each start
  int runs_in_round = 1;
  std::uint64_t kept_bytes = 0;  ///< of what our process grew by when it was loaded
  double run_seconds = 0;        ///< at the end of the warm-up
  double cpu_before = 0;         ///< seconds that its process, if it has one, had computed before it was measured

  bool is_running() const { return !report->failure; }
};

class Measurement {
 public:
  Measurement(const std::vector<DiffSide>& sides, const InputSet& inputs, const BenchOptions& options)
      : options_(options), inputs_(inputs), diff_(diff_options(options)), sessions_(diff_), random_(options.seed) {
    report_.sides.resize(sides.size());
    report_.inputs = inputs.name;
    report_.input_types = inputs_of(inputs);
    const BenchMachine machine = machine_here();
    report_.processor = machine.processor;
    report_.processors = machine.processors;
    report_.memory_bytes = machine.memory_bytes;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Contender& contender = contenders_.emplace_back();
      contender.source = &sides[i];
      contender.report = &report_.sides[i];
      contender.side = std::make_unique<diffing::Side>(sides[i], sessions_, contender.side_report);
    }
  }

  Result<BenchReport> run() {
    const GpuState gpus_before = gpus_.now();  // before our processes start
    measure();
    std::ranges::copy(gpu_disturbances(gpus_before, gpus_.now(), gpu_rounds_), std::back_inserter(report_.warnings));
    // Worker processes load the model once more for a profile.
    for (Contender& contender : contenders_) take_peak(contender);
    if (options_.profiles && !stopped()) profile();
    for (Contender& contender : contenders_) finish(contender);
    if (!options_.keeps_runs)
      for (BenchSideReport& side : report_.sides) thin_out(side.rounds);
    if (report_.cancelled && std::all_of(report_.sides.begin(), report_.sides.end(),
                                         [](const BenchSideReport& side) { return side.rounds.empty(); }))
      return make_error("cancelled", "the measurement was stopped");
    if (options_.judges && !report_.cancelled) judge_all();
    stopped();
    return std::move(report_);
  }

 private:
  static DiffOptions diff_options(const BenchOptions& options) {
    DiffOptions diffing;
    diffing.context = options.context;
    diffing.limits = options.limits;
    diffing.seed = options.seed;
    diffing.allow_outside_data = options.allow_outside_data;
    diffing.stop = options.stop;
    return diffing;
  }

  void step(const std::string& text) const {
    if (options_.on_step) options_.on_step(text);
  }
  bool stopped() {
    report_.cancelled = report_.cancelled || options_.stop.stop_requested();
    return report_.cancelled;
  }

  void open_all() {
    for (Contender& contender : contenders_) {
      if (stopped()) return;
      step("loading " + contender.side_report.label);
      give_back_freed();
      const OwnGrowth growth;
      open(contender);
      take_growth(contender, growth);
      copy_description(contender);
    }
  }

  void open(Contender& contender) {
    constexpr int many = 1000;
    auto opened = contender.side->open(many);
    if (opened || stopped()) return;  // what was measured before a stop stands
    fail(contender, std::move(opened).error());
  }

  void fail(Contender& contender, Error error) {
    add_worker_cpu(contender);
    Diagnostic& told = error.diagnostic;
    if (contender.side_report.failed_at == "run") diffing::tell_of_inputs(told, inputs_);
    if (const std::string last = last_line(contender.side_report.log); !last.empty())
      told.notes.push_back("it printed last: " + last);
    contender.report->failure = std::move(error);
    contender.report->failed_at = contender.side_report.failed_at;
    contender.side->close();
  }

  static void copy_description(Contender& contender) {
    BenchSideReport& report = *contender.report;
    const SideReport& side = contender.side_report;
    report.label = side.label;
    report.backend = side.backend;
    report.version = side.version;
    report.device = side.device;
    report.arithmetic = side.arithmetic;
    report.model = side.model;
    report.options = side.options;
    report.load_seconds = side.load_seconds;
    for (const std::string& warning : side.warnings) add_warning(report, warning);
  }

  static void add_warning(BenchSideReport& side, std::string warning) {
    const auto known = std::find(side.warnings.begin(), side.warnings.end(), warning);
    if (known == side.warnings.end()) side.warnings.push_back(std::move(warning));
  }

  /// Measured runs; the outputs are those of the last.
  std::optional<BenchRound> turn(Contender& contender, int runs) {
    contender.side_report.failed_at = "run";
    auto measured = contender.side->measure(inputs_, runs);
    if (!measured) {
      if (stopped()) return std::nullopt;
      fail(contender, std::move(measured).error());
      return std::nullopt;
    }
    for (std::string& warning : diffing::warnings_of_inputs(*measured))
      add_warning(*contender.report, std::move(warning));
    contender.outputs = std::move(measured->outputs);
    if (const auto bytes = measured->device_bytes)
      contender.report->device_bytes = std::max(*bytes, contender.report->device_bytes.value_or(0));
    return std::move(measured->times);
  }

  /// So many runs that a turn lasts long enough for what surrounds it not to count, and no longer than needed.
  static int runs_for(double seconds) {
    constexpr double least_turn = 0.02;
    return static_cast<int>(std::clamp(least_turn / std::max(seconds, 1e-7), 1.0, 1000.0));
  }

  /// Some backends prepare when they see the sizes of inputs, so the first run counts as loading.
  void run_first() {
    for (Contender& contender : contenders_) {
      if (!contender.is_running() || stopped()) continue;
      const bool is_new = contender.report->warmups == 0;
      const auto growth = is_new ? std::optional<OwnGrowth>(std::in_place) : std::nullopt;
      const auto first = turn(contender, 1);
      if (growth) take_growth(contender, *growth);
      if (!first) continue;
      contender.run_seconds = first->front().wall;
      if (is_new) contender.report->first_seconds = contender.run_seconds;
      ++contender.report->warmups;
    }
  }

  void warm_up(Contender& contender) {
    step("warming up " + contender.report->label);
    let_rest();
    const Clock::time_point start = Clock::now();
    const double most = options_.max_seconds / (4 * static_cast<double>(contenders_.size() * report_.starts));
    Stationary stationary;
    double last = contender.run_seconds;
    while (!stationary.reached() && seconds_since(start) < most && !stopped()) {
      const auto times = turn(contender, runs_for(last));
      if (!times) return;
      contender.report->warmups += times->size();
      std::vector<double> values;
      for (const RunTime& time : *times) values.push_back(time.wall);
      stationary.add(last = median(values));
    }
    const bool others_were = contender.warm_ups++ == 0 || contender.report->stationary;
    contender.report->stationary = others_were && stationary.reached();
    contender.runs_in_round = runs_for(last);
    contender.run_seconds = last;
  }

  /// Until threads of the side before no longer spin, as those of ONNX Runtime do for 20 to 70 ms after a run: they take a processor from the next one.
  void let_rest() {
    const auto may_spin = [&](const Contender& contender) {
      return contender.is_running() && threads_of(*contender.source) != 1;
    };
    if (contenders_.size() < 2 || std::none_of(contenders_.begin(), contenders_.end(), may_spin)) return;
    std::vector<const diffing::Side*> sides;
    for (const Contender& contender : contenders_) sides.push_back(contender.side.get());
    ++rests_;
    if (!diffing::let_rest(sides)) ++rests_without_quiet_;
  }

  void warn_of_unrest() {
    if (2 * rests_without_quiet_ <= rests_) return;
    report_.warnings.push_back(
        "threads of a backend went on computing between the runs, and took processors from the backend behind it");
  }

  /// As often as loading again takes no more than half of the time for measuring.
  std::size_t starts_for(double loading_seconds) const {
    const double again = options_.max_seconds / 2 / std::max(loading_seconds, 1e-3);
    return 1 + static_cast<std::size_t>(
                   std::clamp(again, 0.0, std::max(static_cast<double>(options_.most_starts) - 1, 0.0)));
  }

  /// In one start.
  std::size_t least_rounds(std::size_t starts) const {
    return std::max<std::size_t>(1, (options_.min_rounds + starts - 1) / starts);
  }

  /// The least rounds of a start and its warm-up have to fit its share of the time.
  void start_less_often() {
    double round = 0;
    for (const Contender& contender : contenders_) round += contender.runs_in_round * contender.run_seconds;
    std::size_t& starts = report_.starts;
    while (starts > 1 && round * static_cast<double>((least_rounds(starts) + 2) * starts) > options_.max_seconds)
      --starts;
  }

  void measure() {
    const Clock::time_point loading = Clock::now();
    open_all();
    run_first();
    report_.starts = starts_for(seconds_since(loading));
    MachineState before = MachineState::now();
    const double own_before = own_cpu_seconds();
    double own_loading = 0;
    for (std::size_t n = 0; n < report_.starts && !stopped(); ++n) {
      if (n > 0) {
        const MachineState from = MachineState::now();
        const double own_from = own_cpu_seconds();
        start_anew();
        run_first();
        before.leave_out(from, MachineState::now());
        own_loading += own_cpu_seconds() - own_from;
      }
      for (Contender& contender : contenders_)
        if (contender.side->is_open()) contender.cpu_before = contender.side->process_cpu_seconds().value_or(0);
      measure_start(n);
      for (Contender& contender : contenders_) add_worker_cpu(contender);
    }
    report_.reached_goal = base() && reached_goal(options_.precision_goal);
    Disturbances found =
        disturbances(before, MachineState::now(), own_cpu_seconds() - own_before - own_loading + worker_cpu_);
    report_.warnings = std::move(found.texts);
    report_.lost_processors = found.lost_processors;
    warn_of_few_rounds();
    warn_of_unrest();
  }

  /// What its process, if it has one, has computed since it began to be measured.
  void add_worker_cpu(Contender& contender) {
    const auto now = contender.side->is_open() ? contender.side->process_cpu_seconds() : std::nullopt;
    if (now) worker_cpu_ += std::max(*now - contender.cpu_before, 0.0);
    if (now) contender.cpu_before = *now;
  }

  void warn_of_few_rounds() {
    std::size_t fewest = options_.min_rounds;
    for (const BenchSideReport& side : report_.sides)
      if (!side.failure) fewest = std::min(fewest, side.rounds.size());
    if (fewest >= least_compared_rounds || report_.cancelled) return;
    report_.warnings.push_back(
        fmt::format("only {} {} measured in {:.3g} s, and {} needs {}; a longer --max-time allows more rounds", fewest,
                    fewest == 1 ? "round was" : "rounds were", options_.max_seconds,
                    report_.sides.size() == 1 ? "an interval" : "a ratio", least_compared_rounds));
  }

  void start_anew() {
    for (Contender& contender : contenders_) {
      if (!contender.is_running() || stopped()) continue;
      step("loading " + contender.report->label + " again");
      take_peak(contender);
      contender.side->close();
      open(contender);
    }
  }

  /// The first start is measured until its figures are as precise as its share of the rounds has to be; the others get as many rounds, and the last
  /// one as many more as the goal needs.
  void measure_start(std::size_t n) {
    const Clock::time_point start = Clock::now();
    const double spent = report_.seconds;
    for (Contender& contender : contenders_)
      if (contender.is_running() && !stopped()) warm_up(contender);
    if (n == 0) start_less_often();
    const auto starts = static_cast<double>(report_.starts);
    const double until = options_.max_seconds * static_cast<double>(n + 1) / starts;
    const std::size_t least = least_rounds(report_.starts);
    const bool is_last = n + 1 == report_.starts;
    const std::size_t most = is_last ? options_.max_rounds : options_.max_rounds / report_.starts * (n + 1);
    for (std::size_t round = 0; rounds_ < most && !stopped(); ++round) {
      if (round > 0 && spent + seconds_since(start) > until) break;
      if (n > 0 && !is_last && round >= rounds_of_first_) break;
      // The interval of all starts together will be narrower than that of one.
      const double goal = options_.precision_goal * (n == 0 ? std::sqrt(starts) : 1);
      const bool may_end = n == 0 ? round >= least : is_last && round >= rounds_of_first_;
      if (may_end && looks_reached(goal)) break;
      measure_round();
      if (n == 0) rounds_of_first_ = round + 1;
    }
    report_.seconds = spent + seconds_since(start);
  }

  void measure_round() {
    if (++rounds_ % 10 == 0) step(fmt::format("round {}", rounds_));  // rounds of milliseconds
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      Contender& contender = contenders_[i];
      if (!contender.is_running() || stopped()) continue;
      let_rest();
      if (auto times = turn(contender, contender.runs_in_round)) contender.report->rounds.push_back(*std::move(times));
    }
    if (!gpus_.empty()) gpu_rounds_.add(gpus_.brakes());
  }

  /// Behind all measured runs, since a process that kept notes of its steps may stay slower.
  void profile() {
    constexpr int profiled_runs = 7;
    for (Contender& contender : contenders_) {
      BenchSideReport& side = *contender.report;
      if (side.failure || side.rounds.empty() || stopped()) continue;
      step("taking the time of each step of " + side.label);
      auto profile = contender.side->profile(inputs_, profiled_runs);
      if (!profile) {
        side.unprofiled = headline(profile.error().diagnostic);
        continue;
      }
      std::vector<StepCost> costs;
      if (const auto& model = contender.source->model; model && !profile->steps.empty()) {
        if (const auto inputs = contender.side->inputs(inputs_))
          costs = step_costs(model->ir(), diff_.context.table(), *inputs, profile->steps);
      }
      const auto roof = profile->device == "cpu" ? std::optional(roof_of(*contender.source)) : std::nullopt;
      side.profile = profile_of(*std::move(profile), std::move(costs), roof);
    }
  }

  /// 0 for as many as there are processors.
  int threads_of(const DiffSide& side) const {
    const auto given = side.options.find("threads");
    return given == side.options.end() ? diff_.context.limits(diff_.limits).threads : std::atoi(given->second.c_str());
  }

  /// Of the threads that a side may use.
  const BenchRoof& roof_of(const DiffSide& side) {
    const int threads = threads_of(side);
    const auto [roof, is_new] = roofs_.try_emplace(threads);
    if (is_new) roof->second = measure_roof(threads);
    return roof->second;
  }

  const BenchSideReport* base() const {
    for (const BenchSideReport& side : report_.sides)
      if (!side.failure && !side.rounds.empty()) return &side;
    return nullptr;
  }

  /// Not asked after each round: what it takes grows with their number, and the backends wait.
  bool looks_reached(double goal) {
    if (rounds_ < next_look_) return false;
    constexpr std::size_t least = 5, part = 20;
    next_look_ = rounds_ + std::max(least, rounds_ / part);
    return reached_goal(goal);
  }

  /// As is_as_precise() of every side.
  bool reached_goal(double goal) const {
    const BenchSideReport* first = base();
    if (!first) return true;
    const auto all = [&](auto holds) {
      return std::all_of(report_.sides.begin(), report_.sides.end(),
                         [&](const BenchSideReport& side) { return side.failure || holds(side); });
    };
    // Intervals of medians come first: those of ratios take thousands of times longer.
    return all([&](const BenchSideReport& side) {
             const std::vector<double> rounds = medians(walls(side.rounds));
             return !rounds.empty() && is_precise(median_interval(rounds), median(rounds), goal);
           }) &&
           all([&](const BenchSideReport& side) {
             return &side == first || has_precise_ratio(wall_ratio(side.rounds, first->rounds, options_.seed), goal);
           });
  }

  /// Growth of loading and of the first run one behind the other; that of the run comes on top of what loading left.
  static void take_growth(Contender& contender, const OwnGrowth& growth) {
    std::optional<std::uint64_t>& grown = contender.report->grown_bytes;
    const auto peak = growth.peak();
    if (!peak || !contender.side->is_open() || contender.side->peak_bytes()) return;
    grown = std::max(grown.value_or(0), contender.kept_bytes + *peak);
    contender.kept_bytes = growth.kept();
  }

  static void take_peak(Contender& contender) {
    if (!contender.side->is_open()) return;
    const auto peak = contender.side->peak_bytes();
    if (peak) contender.report->peak_bytes = std::max(*peak, contender.report->peak_bytes.value_or(0));
  }

  static void take_notes(Contender& contender) {
    if (!contender.side->is_open()) return;
    if (auto plan = contender.side->plan_report()) contender.report->notes = std::move(plan->notes);
  }

  void finish(Contender& contender) {
    BenchSideReport& side = *contender.report;
    take_notes(contender);
    contender.side->close();
    const BenchSideReport* first = base();
    benching::summarize(side, !first || first == &side ? std::vector<BenchRound>() : first->rounds, options_.seed);
  }

  /// The outputs of measured runs against the reference, each by the arithmetic that its side says it computes in.
  void judge_all() {
    const auto with_model = std::find_if(contenders_.begin(), contenders_.end(),
                                         [](const Contender& contender) { return contender.source->model; });
    for (Contender& contender : contenders_) {
      BenchSideReport& side = *contender.report;
      if (side.failure || side.rounds.empty()) continue;
      if (with_model == contenders_.end()) {
        side.why = "none of the sides is an ONNX model, which the reference could run";
        continue;
      }
      if (stopped()) return;
      if (auto reason = benching::reason_not_to_judge(inputs_, contender.outputs)) {
        side.why = *std::move(reason);
        continue;
      }
      step("judging " + side.label);
      benching::judge(with_model->source->model, inputs_, contender.outputs, diff_, side);
    }
  }

  const BenchOptions& options_;
  const InputSet& inputs_;
  const DiffOptions diff_;
  diffing::Sessions sessions_;
  std::mt19937_64 random_;
  std::deque<Contender> contenders_;
  BenchReport report_;
  const Gpus gpus_ = Gpus::open();
  GpuRounds gpu_rounds_;
  double worker_cpu_ = 0;
  std::size_t rounds_ = 0, rounds_of_first_ = 0;  ///< of all starts, and of the first
  std::size_t next_look_ = 0;                     ///< whether the goal is reached
  std::size_t rests_ = 0, rests_without_quiet_ = 0;
  std::map<int, BenchRoof> roofs_;  ///< by number of threads
};

}  // namespace

std::vector<BenchInput> inputs_of(const InputSet& inputs) {
  std::vector<BenchInput> given;
  for (const NamedValue& input : inputs.values)
    if (input.value.kind != ValueKind::none) given.push_back({input.name, type_text(input.value)});
  return given;
}

Result<BenchReport> bench(const std::vector<DiffSide>& sides, const InputSet& inputs, const BenchOptions& options) {
  if (sides.empty()) return make_error("usage", "there is nothing to measure");
  return Measurement(sides, inputs, options).run();
}

}  // namespace onnxkit::benching
