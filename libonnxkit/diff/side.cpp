#include "libonnxkit/diff/side.h"

namespace onnxkit::diffing {

workers::WorkerLimits worker_limits(const DiffOptions& options) {
  workers::WorkerLimits limits;
  limits.start = std::chrono::milliseconds(options.start_limit_ms);
  limits.load = std::chrono::milliseconds(options.load_limit_ms);
  limits.run = std::chrono::milliseconds(options.run_limit_ms);
  limits.memory = options.worker_memory_limit;
  limits.stop = options.stop;
  return limits;
}

Result<std::unique_ptr<Side>> open_side(const DiffSide& side, const DiffOptions& options, SideReport& report) {
  report.backend = side.backend;
  report.label = side.label.empty() ? side.backend : side.label;
  report.model = side.path.empty() && side.model ? side.model->path().string() : side.path.string();
  report.options = side.options;
  report.failed_at = "start";
  if (side.backend == "recorded") return open_recorded(side);
  if (side.backend == "reference") return open_reference(side, options, report);
  return open_worker(side, options, report);
}

}  // namespace onnxkit::diffing
