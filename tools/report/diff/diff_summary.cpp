#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tools/report/diagnostics.h"
#include "tools/report/diff/diff.h"
#include "tools/report/diff/diff_parts.h"

namespace onnxkit::tools {
namespace {

std::string failure_sentence(const SideReport& side) {
  const std::vector<std::string> lines = last_lines(side.failure->diagnostic.message, std::string::npos);
  return fmt::format("failed at {}: {}", without_controls(side.failed_at), lines.empty() ? "" : lines.front());
}

std::string output_name(const OutputGroup& group, const DiffReport& report) {
  std::string name = quote(group.all.name);
  if (report.sets.size() > 1 && group.sets.size() == 1) name += " of set " + quote(group.sets.front());
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

std::string finding_sentence(const SideReport& side, const DiffReport& report) {
  const std::vector<OutputGroup> all = groups(side);
  const auto findings = static_cast<std::size_t>(std::count_if(
      side.outputs.begin(), side.outputs.end(), [](const OutputDiff& output) { return is_finding(output.verdict); }));
  const OutputGroup& worst = *std::max_element(
      all.begin(), all.end(), [](const OutputGroup& a, const OutputGroup& b) { return a.all.verdict < b.all.verdict; });
  const std::string reason = finding_reason(worst.all);
  const bool mismatch = worst.all.verdict == Verdict::mismatch;
  std::string text = fmt::format("output {} {}{}{}", output_name(worst, report), mismatch ? "does not match" : "is ",
                                 mismatch ? "" : name_of(worst.all.verdict), reason.empty() ? "" : ": " + reason);
  if (worst.sets.size() > 1) text += fmt::format(" in {} of {} sets", worst.sets.size(), report.sets.size());
  if (findings > worst.sets.size())
    text += fmt::format("; findings in {} of {} outputs", findings, side.outputs.size());
  return text;
}

/// "2 of 3 outputs identical, 1 rounding (float32)"
std::string counts_text(const SideReport& side) {
  std::map<std::pair<Verdict, std::optional<Profile>>, std::size_t> counts;
  for (const OutputDiff& output : side.outputs)
    ++counts[{output.verdict, output.verdict == Verdict::rounding ? output.profile : std::nullopt}];
  std::string text;
  for (const auto& [kind, count] : counts) {
    const std::string verdict = verdict_text(kind.first, kind.second);
    if (!text.empty())
      text += fmt::format(", {} {}", count, verdict);
    else if (counts.size() > 1)
      text = fmt::format("{} of {} {}", count, counted(side.outputs.size(), "output"), verdict);
    else
      text = count == 1 ? "the output is " + verdict : fmt::format("all {} outputs {}", count, verdict);
  }
  return text;
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
  if (side.failure) text += "; then it " + failure_sentence(side);
  return text;
}

}  // namespace onnxkit::tools
