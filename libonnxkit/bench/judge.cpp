#include "libonnxkit/bench/judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "libonnxkit/base/system/cgroup.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::benching {
namespace {

std::uint64_t bytes_of_value(const Value& value) {
  std::uint64_t bytes = value.is_tensor() || value.kind == ValueKind::map ? value.tensor.bytes().size() : 0;
  for (const Value& item : value.items) bytes += bytes_of_value(item);
  return bytes;
}

/// Of one output; where the comparison says nothing of a finding, how far off it is.
std::string reason_of(const OutputDiff& output) {
  const bool is_finding = output.verdict == Verdict::not_rounding || output.verdict == Verdict::beyond;
  if (!output.why.empty()) return fmt::format("{}: {}", quote(output.name), output.why);
  if (!is_finding || !output.metrics) return {};
  return fmt::format("{} deviates by at most {:.3g}, {:.2g} % of its range", quote(output.name),
                     output.metrics->max_absolute, 100 * output.metrics->range_relative);
}

/// Of the first output with this verdict, and how many more there are.
std::string reason_of(const std::vector<OutputDiff>& outputs, Verdict verdict) {
  std::string reason;
  std::size_t others = 0;
  for (const OutputDiff& output : outputs) {
    if (output.verdict != verdict) continue;
    if (reason.empty())
      reason = reason_of(output);
    else
      ++others;
  }
  if (reason.empty() || others == 0) return reason;
  return reason +
         fmt::format("; and {} more {} {}", others, others == 1 ? "output is" : "outputs are", name_of(verdict));
}

/// The coarsest arithmetic by which an output's deviation was explained.
std::optional<Profile> rounding_of(const std::vector<OutputDiff>& outputs) {
  std::optional<Profile> coarsest;
  for (const OutputDiff& output : outputs)
    if (output.verdict == Verdict::rounding && output.profile) coarsest = std::max(coarsest, output.profile);
  return coarsest;
}

}  // namespace

std::optional<std::string> reason_not_to_judge(const InputSet& inputs, const std::vector<NamedValue>& outputs) {
  constexpr double copies = 32, part = 0.5;
  double bytes = 0;
  for (const auto* values : {&inputs.values, &outputs})
    for (const NamedValue& value : *values) bytes += static_cast<double>(bytes_of_value(value.value));
  const double needed = copies * bytes, usable = part * static_cast<double>(usable_memory());
  if (needed <= usable) return std::nullopt;
  return fmt::format(
      "with the reference inputs and outputs would take about {:.0f} GB of memory, half of this machine's is {:.0f}",
      1e-9 * needed, 1e-9 * usable);
}

void judge(std::shared_ptr<const Model> model, const InputSet& inputs, const std::vector<NamedValue>& outputs,
           DiffOptions options, BenchSideReport& side) {
  DiffSide reference, recorded;
  reference.backend = reference.label = "reference";
  reference.model = std::move(model);
  recorded.backend = "recorded";
  recorded.label = side.label;
  recorded.answers = {outputs};
  recorded.arithmetic = side.arithmetic;
  options.warmup = 0;
  const auto compared = diff({std::move(reference), std::move(recorded)}, {inputs}, options);
  const bool was_cancelled = compared ? compared->cancelled : compared.error().kind == ErrorKind::cancelled;
  if (was_cancelled) return;
  if (!compared) {
    side.why = headline(compared.error().diagnostic);
    return;
  }
  for (const SideReport& one : compared->sides) {
    if (!one.failure) continue;
    side.why = fmt::format("{}: {}", one.label, headline(one.failure->diagnostic));
    return;
  }
  const SideReport& judged = compared->sides.back();
  side.verdict = judged.verdict;
  side.why = reason_of(judged.outputs, judged.verdict);
  if (side.verdict == Verdict::rounding) side.rounding = rounding_of(judged.outputs);
}

}  // namespace onnxkit::benching
