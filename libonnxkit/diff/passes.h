#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// Runs a model on a plan that was made without these passes and judges the outputs. Error: the plan could not be run.
using JudgePasses = std::function<Result<Verdict>(const std::vector<std::string>& without)>;

/// Without each pass alone, for a plan whose outputs are right.
std::vector<PassTrial> without_each(const std::vector<std::string>& passes, const JudgePasses& judge);

struct PassSearch {
  std::vector<PassTrial> trials;
  std::vector<std::string> wrong;  ///< without these the outputs are right; empty where they are wrong without any pass
};
/// For a plan whose outputs are wrong: passes come back one after the other, in the order in which they run, and those behind which the outputs are
/// wrong stay out. Several wrong ones are all found; of two that are wrong only together, the later one is.
PassSearch wrong_passes(const std::vector<std::string>& passes, const JudgePasses& judge);

}  // namespace onnxkit::diffing
