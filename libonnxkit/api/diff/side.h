#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/workers/worker.h"
#include "onnxkit/diff.h"

// One side of a comparison, opened: the reference, a worker, or recorded answers, all run in one way.
namespace onnxkit::api {

struct SideRun {
  std::vector<NamedValue> outputs;
  std::vector<RunTime> times;
  std::vector<std::string> moved;  ///< outputs whose channels were moved to where `wanted` has them
};

class Side {
 public:
  virtual ~Side() = default;
  /// Runs set number `index`. `wanted` are the outputs that the caller knows: values by the first side's names, empty when this is the first
  /// side; the answer bears their names and layouts where they can be told.
  virtual Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) = 0;
};

/// Opens a side; what it is goes into the report, also when it cannot be opened.
Result<std::unique_ptr<Side>> open_side(const DiffSide& side, const DiffOptions& options, SideReport& report);

Result<std::unique_ptr<Side>> open_reference(const DiffSide& side, const DiffOptions& options, SideReport& report);
Result<std::unique_ptr<Side>> open_worker(const DiffSide& side, const DiffOptions& options, SideReport& report);
Result<std::unique_ptr<Side>> open_recorded(const DiffSide& side);

workers::WorkerLimits worker_limits(const DiffOptions& options);

}  // namespace onnxkit::api
