#include "libonnxkit/api/diff/outputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/exec/plots.h"

namespace onnxkit::api {
namespace {

/// A tensor of an output: "y", "y[2]", "y.keys".
struct Part {
  std::string name;
  const Value* base;
  const Value* got;
};

/// The tensors of a value in the order that part_of reads; where the structures of both part, the whole.
void flatten(const std::string& name, const Value& base, const Value& got, std::vector<Part>& parts) {
  const bool has_parts = base.kind == ValueKind::sequence || base.kind == ValueKind::optional;
  if (!has_parts || base.kind != got.kind || base.items.size() != got.items.size()) {
    parts.push_back({name, &base, &got});
    return;
  }
  for (std::size_t i = 0; i < base.items.size(); ++i)
    flatten(fmt::format("{}[{}]", name, i), base.items[i], got.items[i], parts);
}

/// The part of a spread that has the same place as a part of an output; nullopt where exact answer or replicas have another structure.
std::optional<exec::Spread> part_of(const exec::Spread& spread, std::string_view path) {
  exec::Spread at = spread;
  while (!path.empty()) {
    const std::size_t end = path.find(']');
    const std::size_t index = std::stoul(std::string(path.substr(1, end - 1)));
    path.remove_prefix(end + 1);
    if (index >= at.exact.items.size()) return std::nullopt;
    exec::Spread inner{at.exact.items[index], {}};
    for (const Value& replica : at.replicas) {
      if (index >= replica.items.size()) return std::nullopt;
      inner.replicas.push_back(replica.items[index]);
    }
    at = std::move(inner);
  }
  return at;
}

bool is_within(const Tensor& a, const Tensor& b, const OutputTolerance& tolerance) {
  const std::vector<double> left = to_reals(a), right = to_reals(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    const double limit = tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(left[i]);
    if (!(std::abs(right[i] - left[i]) <= limit)) return false;
  }
  return true;
}

std::optional<OutputTolerance> tolerance_of(const DiffOptions& options, const std::string& output) {
  const auto found = options.tolerances.find(output);
  if (found != options.tolerances.end()) return found->second;
  if (options.tolerance.relative || options.tolerance.absolute) return options.tolerance;
  return std::nullopt;
}

/// Figures, outcome and plots of tensors that can be compared at all.
void measure(OutputDiff& diff, const std::string& output, const Tensor& a, const Tensor& b, const Yardstick& yardstick,
             const std::vector<NamedValue>& outputs, const DiffOptions& options) {
  if (auto metrics = compare(a, b)) diff.metrics = *std::move(metrics);
  const auto task = options.tasks.find(output);
  const Task kind = task != options.tasks.end() ? task->second : guess_task(a);
  Tensor a_scores, b_scores;
  if (const auto scores = options.scores.find(output); scores != options.scores.end()) {
    for (const NamedValue& value : *yardstick.answers) {
      if (value.name == scores->second) a_scores = value.value.tensor;
    }
    for (const NamedValue& value : outputs) {
      if (value.name == scores->second) b_scores = value.value.tensor;
    }
  }
  if (auto result = outcome(kind, a, b, a_scores, b_scores)) diff.outcome = *std::move(result);
  if (!diff.metrics) return;
  diff.scatter = exec::scatter_of(a, b);
  if (kind == Task::segmentation) diff.maps = exec::class_maps_of(a, b);
}

/// Verdict by the noise floor, from the finest profile on.
Result<void> judge_by_floor(OutputDiff& diff, const std::string& output, std::string_view path, const Part& part,
                            const Yardstick& yardstick, const DiffOptions& options) {
  if (!yardstick.floor) return {};
  for (const Profile profile : options.profiles) {
    const auto spreads = yardstick.floor->spreads(*yardstick.set, yardstick.index, profile);
    if (!spreads) return spreads.error();
    const auto found = (*spreads)->find(output);
    if (found == (*spreads)->end()) return {};
    const auto spread = part_of(found->second, path);
    if (!spread || !spread->exact.is_tensor()) {
      diff.verdict = Verdict::undecidable;
      diff.why = "rounding can change the structure of the output";
      return {};
    }
    const exec::Judgement judgement =
        exec::judge(*spread, part.got->tensor, profile, yardstick.is_reference ? nullptr : &part.base->tensor);
    diff.verdict = judgement.verdict;
    diff.flips = judgement.flips;
    diff.why = judgement.why;
    diff.floors.push_back(judgement.floor);
    if (judgement.verdict == Verdict::mismatch) return {};
    if (!is_finding(judgement.verdict)) {
      if (judgement.verdict == Verdict::identical) diff.verdict = Verdict::rounding;
      diff.profile = profile;
      return {};
    }
  }
  return {};
}

Result<OutputDiff> judge_part(const std::string& output, std::string_view path, const Part& part,
                              const Yardstick& yardstick, const std::vector<NamedValue>& outputs,
                              const DiffOptions& options) {
  OutputDiff diff;
  diff.name = part.name;
  diff.type = type_text(*part.base);
  diff.set = yardstick.set->name;
  if (part.base->kind != ValueKind::tensor || part.got->kind != ValueKind::tensor) {
    diff.verdict = exec::identical(*part.base, *part.got) ? Verdict::identical : Verdict::mismatch;
    if (diff.verdict == Verdict::mismatch)
      diff.why = fmt::format("the value is {} and should be {}", type_text(*part.got), type_text(*part.base));
    return diff;
  }
  const Tensor &a = part.base->tensor, &b = part.got->tensor;
  const auto tolerance = tolerance_of(options, output);
  if (a.type() != b.type()) {
    diff.verdict = Verdict::mismatch;
    diff.why = fmt::format("the type is {} and should be {}", name_of(b.type()), name_of(a.type()));
    return diff;
  }
  measure(diff, output, a, b, yardstick, outputs, options);
  if (exec::identical(*part.base, *part.got)) {
    diff.verdict = Verdict::identical;
    return diff;
  }
  if (auto judged = judge_by_floor(diff, output, path, part, yardstick, options); !judged) return judged.error();
  if (tolerance && a.dims() == b.dims()) {
    diff.verdict = is_within(a, b, *tolerance) ? Verdict::within : Verdict::beyond;
  } else if (!yardstick.floor) {
    diff.verdict = a.dims() == b.dims() ? Verdict::not_compared : Verdict::mismatch;
    diff.why = a.dims() == b.dims() ? "there is no noise floor and no tolerance was set" : "the shapes differ";
  }
  return diff;
}

}  // namespace

Result<std::vector<OutputDiff>> judge_outputs(const Yardstick& yardstick, const std::vector<NamedValue>& outputs,
                                              const DiffOptions& options) {
  std::vector<OutputDiff> all;
  for (std::size_t i = 0; i < yardstick.answers->size(); ++i) {
    const NamedValue& base = (*yardstick.answers)[i];
    std::vector<Part> parts;
    flatten(base.name, base.value, outputs[i].value, parts);
    for (const Part& part : parts) {
      auto diff = judge_part(base.name, std::string_view(part.name).substr(base.name.size()), part, yardstick, outputs,
                             options);
      if (!diff) return diff.error();
      all.push_back(*std::move(diff));
    }
  }
  return all;
}

}  // namespace onnxkit::api
