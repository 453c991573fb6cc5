#include "tools/bench/resume.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

/// Where both tell: older files hold neither.
bool has_same_inputs(const Benchmark& stored, const Benchmark& planned) {
  return (!stored.seed || stored.seed == planned.seed) &&
         (stored.input_values.empty() || stored.input_values == planned.input_values);
}

/// Whether its models and runtimes are what they were. What is not told, as in older files, may be anything.
bool is_up_to_date(const Benchmark& stored, const Benchmark& planned) {
  for (std::size_t i = 0; i < std::min(stored.model_states.size(), planned.model_states.size()); ++i) {
    const std::string &then = stored.model_states[i], &now = planned.model_states[i];
    if (!then.empty() && !now.empty() && then != now) return false;
  }
  return std::all_of(stored.runtimes.begin(), stored.runtimes.end(), [&](const auto& then) {
    const auto now = planned.runtimes.find(then.first);
    return now == planned.runtimes.end() || then.second.empty() || now->second.empty() || then.second == now->second;
  });
}

/// Older files tell the machine for people only.
bool is_on_machine(const Benchmark& stored, const Benchmark& planned) {
  const BenchReport &then = stored.report, &now = planned.report;
  return stored.runtimes.empty() || planned.runtimes.empty() ||
         (in_json(then.processor) == in_json(now.processor) && then.processors == now.processors);
}

bool is_stored_side(const BenchSideReport& report, const DiffSide& side) {
  return in_json(report.label) == in_json(side.label) && report.backend == side.backend &&
         report.options == side.options;
}

/// Whether it has what is asked for now: profiles, and verdicts or why there are none.
bool is_complete(const BenchSideReport& side, const BenchArguments& arguments) {
  const bool is_profiled = side.profile || !side.unprofiled.empty();
  const bool is_judged = side.verdict || !side.why.empty();
  return !side.rounds.empty() && (!arguments.wants_profiles() || is_profiled) && (arguments.no_judging || is_judged);
}

/// Whether it is less precise than is asked for now, and there is more time than it had.
bool needs_longer(const Benchmark& stored, const BenchOptions& options) {
  return !is_as_precise(stored.report, options.precision_goal) &&
         options.max_seconds > stored.max_seconds.value_or(stored.report.seconds);
}

const BenchSideReport* first_measured(const BenchReport& report) {
  const auto found = std::find_if(report.sides.begin(), report.sides.end(),
                                  [](const BenchSideReport& side) { return !side.failure && !side.rounds.empty(); });
  return found == report.sides.end() ? nullptr : &*found;
}

}  // namespace

void describe_inputs(Benchmark& benchmark, const InputSet& inputs, const BenchOptions& options) {
  benchmark.report.input_types = bench_inputs(inputs);
  benchmark.seed = options.seed;
  benchmark.has_all_runs = options.keeps_runs;
  benchmark.max_seconds = options.max_seconds;
  benchmark.input_values = inputs_state(inputs);
}

void describe_setting(Benchmark& benchmark, const std::vector<DiffSide>& sides, const Context& context,
                      KnownOrigins& known_origins) {
  const BenchMachine machine = bench_machine();
  benchmark.report.processor = machine.processor;
  benchmark.report.processors = machine.processors;
  for (const DiffSide& side : sides) {
    const std::string path = side.model ? side.model->path().string() : side.path.string();
    const auto [state, is_new_model] = known_origins.model_states.try_emplace(path);
    if (is_new_model || path.empty()) state->second = model_state(side);
    benchmark.model_states.push_back(state->second);
    const auto [known, is_new] = known_origins.runtimes.try_emplace(side.backend);
    if (is_new) {
      for (const BackendInfo& info : backends({.context = context, .names = {side.backend}}))
        if (info.available) known->second = info.runtime + " " + info.version;
    }
    benchmark.runtimes[side.backend] = known->second;
  }
}

StoredBenchmark find_stored(std::vector<Benchmark>& stored, const Benchmark& planned,
                            const std::vector<DiffSide>& sides) {
  const auto found = std::find_if(stored.begin(), stored.end(), [&](const Benchmark& one) {
    return is_same_setting(one, planned) && has_same_inputs(one, planned) && is_on_machine(one, planned) &&
           std::equal(one.report.sides.begin(), one.report.sides.end(), sides.begin(), sides.end(), is_stored_side);
  });
  return {found, found != stored.end() && is_up_to_date(*found, planned)};
}

std::vector<std::size_t> missing_sides(const Benchmark& stored, const BenchArguments& arguments) {
  const std::vector<BenchSideReport>& sides = stored.report.sides;
  std::vector<std::size_t> all(sides.size()), failed;
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (stored.failure || stored.report.cancelled || (arguments.bench.keeps_runs && !stored.has_all_runs) ||
      needs_longer(stored, arguments.bench))
    return all;
  for (const std::size_t i : all) {
    if (sides[i].failure)
      failed.push_back(i);
    else if (!is_complete(sides[i], arguments))
      return all;
  }
  return failed;
}

Benchmark with_sides(const Benchmark& stored, const std::vector<std::size_t>& which, Benchmark later) {
  Benchmark merged = stored;
  merged.fastest.reset();
  merged.is_kept = false;
  for (auto& [backend, runtime] : merged.runtimes)
    if (runtime.empty()) runtime = later.runtimes[backend];
  BenchReport& report = merged.report;
  const BenchSideReport* before = first_measured(stored.report);
  const std::string base_before = before ? before->label : std::string();
  std::string measured;
  for (std::size_t i = 0; i < which.size(); ++i) {
    BenchSideReport& side = report.sides[which[i]] = std::move(later.report.sides[i]);
    if (!side.failure) measured += (measured.empty() ? "" : ", ") + side.label;
  }
  if (measured.empty()) return merged;
  const BenchSideReport* base = first_measured(report);
  for (BenchSideReport& side : report.sides) {
    const bool is_new =
        std::any_of(which.begin(), which.end(), [&](std::size_t i) { return &side == &report.sides[i]; });
    if (side.failure || side.rounds.empty() || (!is_new && base->label == base_before)) continue;
    side.ratio = &side == base ? std::nullopt : change_of(side.rounds, base->rounds, merged.seed.value_or(0));
    side.cpu_ratio.reset();
  }
  merged.has_all_runs = merged.has_all_runs && later.has_all_runs;
  merged.max_seconds = later.max_seconds;
  report.warnings.insert(report.warnings.end(), later.report.warnings.begin(), later.report.warnings.end());
  report.lost_processors = report.lost_processors || later.report.lost_processors;
  report.warnings.push_back(fmt::format("measured later than the others, not beside them: {}", measured));
  report.seconds += later.report.seconds;
  report.reached_goal = report.reached_goal && later.report.reached_goal;
  return merged;
}

}  // namespace onnxkit::tools
