#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/bench/bench_match.h"
#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"
#include "tools/report/table.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

/// What was measured on other machines or with other runtimes is compared all the same, and said.
void add_differences(const BenchReport& before, const BenchReport& after, std::vector<std::string>& differences) {
  if (!before.processor.empty() && !after.processor.empty() && in_json(before.processor) != in_json(after.processor))
    add_once(differences, fmt::format("another processor: {}, before {}", without_controls(after.processor),
                                      without_controls(before.processor)));
  if (before.processors > 0 && after.processors > 0 && before.processors != after.processors)
    add_once(differences,
             fmt::format("another number of processors: {}, before {}", after.processors, before.processors));
}

void add_differences(const BenchSideReport& before, const BenchSideReport& after,
                     std::vector<std::string>& differences) {
  if (before.version.empty() || after.version.empty() || in_json(before.version) == in_json(after.version)) return;
  add_once(differences, fmt::format("another version of {}: {}, before {}", without_controls(after.backend),
                                    without_controls(after.version), without_controls(before.version)));
}

void add_disturbances(const BenchReport& report, std::string_view when, std::vector<std::string>& disturbances) {
  if (!report.lost_processors) return;
  for (const std::string& warning : report.warnings)
    add_once(disturbances, fmt::format("{}, {}", when, without_controls(warning)));
}

/// A longer wall time that the work does not explain, as CPU time tells, and that others do who took processors away. Those of before made the earlier
/// times longer, which explains no slowdown.
bool is_waiting(const Benchmark& now, const BenchSideReport& before, const BenchSideReport& after, double most) {
  return now.report.lost_processors && before.cpu && after.cpu && before.cpu->median > 0 &&
         after.cpu->median <= (1 + most) * before.cpu->median;
}

/// Why two sides have no ratio.
std::string bench_gap(const BenchSideReport& before, const BenchSideReport& after) {
  if (before.failure) return after.failure ? "as before" : "failed before";
  if (after.failure) return {};  // what it did is said already
  return fmt::format("too few rounds to compare, {} before and {} now", before.rounds.size(), after.rounds.size());
}

BenchChange bench_change(const Benchmark& now, const BenchSideReport& before, const BenchSideReport& after,
                         double most) {
  BenchChange change{now.model, now.batch, now.threads, after.label, {}, 0, 0, false, false, {}};
  if (!before.rounds.empty()) change.before = before.wall.median;
  if (!after.rounds.empty()) change.after = after.wall.median;
  if (!before.rounds.empty() && !after.rounds.empty()) change.ratio = change_of(after.rounds, before.rounds, 0);
  change.is_slower = change.ratio && change.ratio->differs && change.ratio->value > 1 + most;
  change.is_worse = bench_is_wrong(after) && !bench_is_wrong(before);
  if (bench_is_wrong(after)) change.remark = bench_verdict_text(after);
  if (change.is_slower && is_waiting(now, before, after, most)) {
    change.is_slower = false;
    change.remark += std::string(change.remark.empty() ? "" : ", ") +
                     "cannot be decided: CPU time is as before, and others took processors away";
  }
  if (change.ratio) return change;
  const std::string gap = bench_gap(before, after);
  if (!gap.empty()) change.remark += (change.remark.empty() ? "" : ", ") + gap;
  return change;
}

/// Of a model that could not be measured at all in one of the reports, or in both.
BenchChange bench_whole_change(const Benchmark& setting, std::string side, std::string remark) {
  return {setting.model, setting.batch, setting.threads, std::move(side), {}, 0, 0, false, false, std::move(remark)};
}

std::string bench_change_name(const BenchChange& change) {
  const std::string setting = setting_of({change.model, change.batch, change.threads, {}});
  return change.side.empty() ? setting : setting + ", " + without_controls(change.side);
}

Table changes_table(const BenchComparison& comparison) {
  Table table({"measurement", ">before", ">after", "change"});
  for (const BenchChange& change : comparison.changes)
    table.add({bench_change_name(change), change.before > 0 ? seconds_text(change.before) : "-",
               change.after > 0 ? seconds_text(change.after) : "-",
               bench_ratio_text(change.ratio) + (change.is_slower ? ", too slow" : "") +
                   (change.remark.empty() ? "" : ", " + change.remark)},
              change.is_slower || change.is_worse ? bench_red : std::string_view());
  return table;
}

std::vector<std::string> comparison_remarks(const BenchComparison& comparison) {
  std::vector<std::string> remarks;
  for (const std::string& one : comparison.only_before)
    remarks.push_back("not compared: " + one + ", which only the older report has");
  for (const std::string& one : comparison.only_after)
    remarks.push_back("not compared: " + one + ", which only the newer report has");
  for (const std::string& one : comparison.differences) remarks.push_back("warning: " + one);
  for (const std::string& one : comparison.disturbances) remarks.push_back("warning: " + one);
  return remarks;
}

/// Two reports, and what came of their comparison so far.
class BenchComparing {
 public:
  BenchComparing(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after, double most)
      : before_(before), after_(after), sides_before_(before), sides_after_(after) {
    comparison_.most = most;
    std::map<std::string, const Benchmark*> first;
    for (const auto* report : {&before, &after}) {
      for (const Benchmark& one : *report) {
        const auto [known, is_new] = first.emplace(setting_of(one), &one);
        if (!is_new && !is_same_setting(*known->second, one)) several_inputs_.insert(known->first);
      }
    }
  }

  BenchComparison run() && {
    for (const Benchmark& now : after_) {
      for (const BenchSideReport& side : now.report.sides) add_side(now, side);
      if (has_failed_whole(now)) add_failure(now);
    }
    for (const Benchmark& then : before_) add_only_before(then);
    return std::move(comparison_);
  }

 private:
  static bool fails_in(const std::vector<Benchmark>& benchmarks, const Benchmark& setting) {
    return std::any_of(benchmarks.begin(), benchmarks.end(),
                       [&](const Benchmark& one) { return has_failed_whole(one) && is_same_setting(one, setting); });
  }

  /// A setting that was measured with inputs of several types says which they were.
  void add_change(const Benchmark& of, BenchChange change) {
    if (several_inputs_.contains(setting_of(of))) {
      for (const BenchInput& input : of.report.input_types)
        change.remark += std::string(change.remark.empty() ? "" : ", ") + "input " + quote(input.name) + " " +
                         without_controls(input.type);
    }
    comparison_.changes.push_back(std::move(change));
  }

  void add_side(const Benchmark& now, const BenchSideReport& side) {
    const auto [then, old] = sides_before_.find(now, side);
    if (!old && fails_in(before_, now)) {
      BenchChange change = bench_whole_change(now, side.label, "failed before");
      if (bench_is_wrong(side)) change.remark = bench_verdict_text(side) + ", " + change.remark;
      if (!side.rounds.empty()) change.after = side.wall.median;
      add_change(now, std::move(change));
    } else if (!old) {
      comparison_.only_after.push_back(setting_of(now) + ", " + without_controls(side.label));
    } else {
      add_change(now, bench_change(now, *old, side, comparison_.most));
      add_differences(then->report, now.report, comparison_.differences);
      add_disturbances(then->report, "before", comparison_.disturbances);
      add_disturbances(now.report, "now", comparison_.disturbances);
      add_differences(*old, side, comparison_.differences);
    }
  }

  /// A model of which nothing could be measured now.
  void add_failure(const Benchmark& now) {
    bool was_there = false;
    for (const Benchmark& then : before_) {
      if (!is_same_setting(then, now)) continue;
      for (const BenchSideReport& old : then.report.sides) {
        was_there = true;
        if (sides_after_.find(then, old).side) continue;
        BenchChange change = bench_whole_change(now, old.label, "failed: " + bench_failure_text(*now.failure));
        change.is_worse = !bench_is_wrong(old);
        if (!change.is_worse) change.remark += ", " + bench_verdict_text(old) + " before";
        if (!old.rounds.empty()) change.before = old.wall.median;
        add_change(then, std::move(change));
      }
    }
    if (was_there) return;
    if (fails_in(before_, now))
      comparison_.changes.push_back(
          bench_whole_change(now, {}, "failed, as before: " + bench_failure_text(*now.failure)));
    else
      comparison_.only_after.push_back(setting_of(now));
  }

  void add_only_before(const Benchmark& then) {
    const bool fails_now = fails_in(after_, then);
    for (const BenchSideReport& old : then.report.sides)
      if (!fails_now && !sides_after_.find(then, old).side)
        comparison_.only_before.push_back(setting_of(then) + ", " + without_controls(old.label));
    const bool is_there = std::any_of(after_.begin(), after_.end(), [&](const Benchmark& now) {
      return !now.report.cancelled && is_same_setting(now, then);
    });
    if (has_failed_whole(then) && !is_there) comparison_.only_before.push_back(setting_of(then));
  }

  const std::vector<Benchmark>&before_, &after_;
  const BenchSides sides_before_, sides_after_;
  std::set<std::string> several_inputs_;  ///< settings
  BenchComparison comparison_;
};

}  // namespace

BenchComparison compare_benchmarks(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                   double most) {
  return BenchComparing(before, after, most).run();
}

std::string comparison_text(const BenchComparison& comparison, bool color) {
  std::string text = changes_table(comparison).text(3, color);
  for (const std::string& remark : comparison_remarks(comparison)) text += "  " + remark + "\n";
  return text;
}

std::string comparison_remarks_text(const BenchComparison& comparison) {
  std::string text;
  for (const std::string& remark : comparison_remarks(comparison)) text += remark + "\n";
  return text;
}

std::string comparison_markdown(const BenchComparison& comparison) {
  std::string text = changes_table(comparison).markdown();
  const std::vector<std::string> remarks = comparison_remarks(comparison);
  if (!remarks.empty()) text += "\n";
  for (const std::string& remark : remarks) text += "- " + markdown_text(remark) + "\n";
  return text;
}

std::string comparison_csv(const BenchComparison& comparison) {
  Table table({"model", "batch", "threads", "backend", "before_s", "after_s", "ratio", "ratio_low", "ratio_high",
               "differs", "too_slow", "worse", "remark"});
  const auto number = [](double value) { return fmt::format("{}", value); };
  const auto word = [](bool is) { return std::string(is ? "yes" : "no"); };
  for (const BenchChange& change : comparison.changes) {
    const auto& ratio = change.ratio;
    table.add({csv_text(change.model), change.batch ? std::to_string(*change.batch) : "",
               change.threads ? std::to_string(*change.threads) : "", csv_text(change.side),
               change.before > 0 ? number(change.before) : "", change.after > 0 ? number(change.after) : "",
               ratio ? number(ratio->value) : "", ratio ? number(ratio->interval.low) : "",
               ratio ? number(ratio->interval.high) : "", ratio ? word(ratio->differs) : "", word(change.is_slower),
               word(change.is_worse), csv_text(change.remark)});
  }
  return table.csv();
}

Json comparison_json(const BenchComparison& comparison) {
  Json changes = Json::array();
  for (const BenchChange& change : comparison.changes) {
    Json json = {{"model", change.model},
                 {"batch", change.batch ? Json(*change.batch) : Json()},
                 {"threads", change.threads ? Json(*change.threads) : Json()},
                 {"label", change.side},
                 {"before", change.before > 0 ? Json(change.before) : Json()},
                 {"after", change.after > 0 ? Json(change.after) : Json()},
                 {"too_slow", change.is_slower},
                 {"worse", change.is_worse},
                 {"remark", change.remark}};
    if (change.ratio) json["ratio"] = bench_ratio_json(*change.ratio);
    changes.push_back(std::move(json));
  }
  return {{"max_slowdown", comparison.most},       {"changes", std::move(changes)},
          {"only_before", comparison.only_before}, {"only_after", comparison.only_after},
          {"differences", comparison.differences}, {"disturbances", comparison.disturbances}};
}

}  // namespace onnxkit::tools
