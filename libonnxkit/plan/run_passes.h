#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "libonnxkit/plan/build.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::plan {

/// What passes did to a model.
struct PassLog {
  std::vector<std::string> names = {};  ///< of those that changed something
  std::vector<NodeChange> changes = {};
  std::vector<NodeMiss> misses = {};
  std::set<std::tuple<std::string_view, std::string, std::string>> known_misses = {};  ///< pass, node, reason
};

/// What a subject has to know of the backend and of what is asked for.
Subject::Options subject_options(const BuildOptions& options);

/// Those up to a stage. Errors: those of the evaluator and of may_go_on.
Result<void> run_passes(Subject& subject, const BuildOptions& options, Stage last, PassLog& log);

}  // namespace onnxkit::plan
