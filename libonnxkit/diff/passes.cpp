#include "libonnxkit/diff/passes.h"

#include <algorithm>

namespace onnxkit::diffing {
namespace {

/// Whether the outputs are right; the trial is noted.
bool is_right(const JudgePasses& judge, const std::vector<std::string>& without, std::vector<PassTrial>& trials) {
  PassTrial trial{.without = without};
  const auto verdict = judge(without);
  if (verdict)
    trial.verdict = *verdict;
  else
    trial.failure = verdict.error();
  trials.push_back(std::move(trial));
  return verdict && !is_finding(*verdict);
}

}  // namespace

std::vector<PassTrial> without_each(const std::vector<std::string>& passes, const JudgePasses& judge) {
  std::vector<PassTrial> trials;
  for (const std::string& pass : passes) is_right(judge, {pass}, trials);
  return trials;
}

PassSearch wrong_passes(const std::vector<std::string>& passes, const JudgePasses& judge) {
  PassSearch search;
  std::vector<std::string> out = passes;
  if (!is_right(judge, out, search.trials)) return search;
  for (const std::string& pass : passes) {
    std::vector<std::string> with = out;
    std::erase(with, pass);
    if (is_right(judge, with, search.trials))
      out = std::move(with);
    else
      search.wrong.push_back(pass);
  }
  return search;
}

}  // namespace onnxkit::diffing
