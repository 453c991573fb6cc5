#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/report/diagnostics.h"
#include "tools/report/diff/diff.h"
#include "tools/report/diff/diff_parts.h"

namespace onnxkit::tools {
namespace {

std::string failure_sentence(const SideReport& side) {
  const std::vector<std::string> lines = last_lines(headline(side.failure->diagnostic), std::string::npos);
  return fmt::format("failed at {}: {}", without_controls(side.failed_at), lines.empty() ? "" : lines.front());
}

std::string output_name(const OutputGroup& group, const DiffReport& report) {
  std::string name = quote(group.all.name);
  if (report.sets.size() > 1 && group.sets.size() == 1) name += " of set " + set_text(group.sets.front());
  return name;
}

/// What is said of an output with a finding: the outcome first, since that is what people see.
std::string finding_reason(const OutputDiff& output) {
  std::string reason = without_controls(output.why);
  if (const std::string change = outcome_change(output.outcome); !change.empty())
    return output.verdict == Verdict::mismatch && !reason.empty() ? reason + "; " + change : change;
  if (reason.empty() && output.metrics)
    reason = fmt::format("it deviates by at most {:.3g}, {:.2g} % of its range", output.metrics->max_absolute,
                         100 * output.metrics->range_relative);
  if (const std::string sentence = sentence_of(output.outcome); !reason.empty() && !sentence.empty())
    reason += "; " + sentence;
  return reason;
}

/// "2 of 3 outputs identical, 1 rounding (float32)", by the worst verdict of each output over the sets of inputs.
std::string counts_text(const SideReport& side) {
  using Kind = std::pair<Verdict, std::optional<Profile>>;
  std::map<std::string, Kind> worst;
  std::set<std::string> sets;
  for (const OutputDiff& output : side.outputs) {
    const Kind kind{output.verdict, output.verdict == Verdict::rounding ? output.profile : std::nullopt};
    Kind& known = worst.emplace(output.name, kind).first->second;
    known = std::max(known, kind);
    sets.insert(output.set);
  }
  std::map<Kind, std::size_t> counts;
  for (const auto& [name, kind] : worst) ++counts[kind];
  std::string text;
  for (const auto& [kind, count] : counts) {
    const std::string verdict = verdict_text(kind.first, kind.second);
    if (!text.empty())
      text += fmt::format(", {} {}", count, verdict);
    else if (counts.size() > 1)
      text = fmt::format("{} of {} {}", count, counted(worst.size(), "output"), verdict);
    else
      text = count == 1 ? "the output is " + verdict : fmt::format("all {} outputs {}", count, verdict);
  }
  return sets.size() > 1 ? fmt::format("{} over {} sets", text, sets.size()) : text;
}

/// What is wrong inside the graph where no output shows it.
std::string culprit_sentence(const SideReport& side) {
  const auto culprits =
      std::count_if(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.is_culprit; });
  const auto first =
      std::find_if(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.is_culprit; });
  const std::string others = culprits > 1 ? fmt::format(" and {} more", culprits - 1) : "";
  return fmt::format("{}{}, run alone, {} not rounding, though no output shows it: {}", node_text(first->location),
                     others, culprits > 1 ? "are" : "is", counts_text(side));
}

std::string finding_sentence(const SideReport& side, const DiffReport& report) {
  const std::vector<OutputGroup> all = groups(side);
  std::set<std::string> names, with_finding;
  for (const OutputDiff& output : side.outputs) {
    names.insert(output.name);
    if (is_finding(output.verdict)) with_finding.insert(output.name);
  }
  const bool has_culprit =
      std::any_of(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.is_culprit; });
  if (with_finding.empty()) return has_culprit ? culprit_sentence(side) : counts_text(side);
  const OutputGroup& worst = *std::max_element(
      all.begin(), all.end(), [](const OutputGroup& a, const OutputGroup& b) { return a.all.verdict < b.all.verdict; });
  const std::string reason = finding_reason(worst.all);
  const bool mismatch = worst.all.verdict == Verdict::mismatch;
  std::string text = fmt::format("output {} {}{}{}", output_name(worst, report), mismatch ? "does not match" : "is ",
                                 mismatch ? "" : name_of(worst.all.verdict), reason.empty() ? "" : ": " + reason);
  if (worst.sets.size() > 1) text += fmt::format(" in {} of {} sets", worst.sets.size(), report.sets.size());
  if (with_finding.size() > 1) text += fmt::format("; findings in {} of {} outputs", with_finding.size(), names.size());
  return text;
}

/// What runs without passes of the plan told.
std::string passes_sentence(const SideReport& side) {
  if (side.pass_trials.empty()) return "";
  const auto& wrong = side.wrong_passes;
  if (wrong.size() == 1) return fmt::format("; because of the pass {}: without it, it is right", wrong.front());
  if (wrong.size() > 1)
    return fmt::format("; because of the passes {}: without them, it is right", fmt::join(wrong, ", "));
  std::vector<std::string> bad;
  for (const PassTrial& trial : side.pass_trials) {
    if (!trial.failure && !is_finding(trial.verdict)) continue;
    if (trial.without.size() > 1) return "; not because of a pass: it is wrong without any, too";
    bad.push_back(trial.without.front());
  }
  if (bad.empty())
    return side.pass_trials.size() == 1
               ? "; right without the pass, too"
               : fmt::format("; right without each of {} passes, too", side.pass_trials.size());
  return fmt::format("; but wrong without the pass {}", fmt::join(bad, ", or without "));
}

/// What follows from outputs without a finding.
std::string conclusion(const SideReport& side, const DiffReport& report) {
  std::optional<Profile> coarsest;
  bool all_compared = true;
  for (const OutputGroup& group : groups(side)) {
    if (const std::string change = outcome_change(group.all.outcome); !change.empty())
      return fmt::format(", but {} in output {}", change, output_name(group, report));
    if (group.all.verdict == Verdict::rounding) coarsest = std::max(coarsest, group.all.profile);
    all_compared = all_compared && group.all.verdict != Verdict::not_compared;
  }
  if (!all_compared) return "; outputs without a verdict: see the metrics";
  if (coarsest.value_or(Profile::float32) == Profile::float32) return ": nothing to worry about";
  return fmt::format(": expected if this side computes in {}", name_of(*coarsest));
}

}  // namespace

std::string diff_summary(const SideReport& side, const DiffReport& report) {
  if (side.outputs.empty()) {
    if (side.failure) return failure_sentence(side);
    return &side == &report.sides[report.base] ? "the baseline of the comparison" : "nothing was compared";
  }
  std::string text =
      is_finding(side.verdict) ? finding_sentence(side, report) : counts_text(side) + conclusion(side, report);
  text += passes_sentence(side);
  if (!side.same_as.empty()) text += "; the same bit for bit as " + side.same_as;
  if (side.failure) text += "; then it " + failure_sentence(side);
  return text;
}

}  // namespace onnxkit::tools
