#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnxkit/result.h"
#include "tools/options/notes.h"
#include "tools/report/sweep.h"
#include "tools/sweep/runner.h"
#include "tools/sweep/task.h"

namespace onnxkit::tools {

struct SweepSettings {
  std::vector<std::string> models;
  std::string resume;            ///< the file that keeps results; empty: none
  std::uint64_t processors = 0;  ///< of each model; 0: one, for what measures on this machine all
  std::uint64_t time_ms = 0;     ///< of each model; 0: any
  RayCluster cluster = {};       ///< without an address: this machine
  Notes notes = Notes::usual;
};

/// Runs the command on each model. A model that fails, crashes or takes too long costs its own result; Ctrl-C leaves those that are not done, and so does what is
/// SweepReport::failure. Errors: the same before any model was done, and usage where the command refuses its words.
Result<SweepReport> sweep_models(const SweepTask& task, const SweepSettings& settings);

}  // namespace onnxkit::tools
