#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/diff/ports.h"
#include "libonnxkit/workers/worker.h"
#include "onnxkit/diff.h"

// One side of a comparison, opened: the reference, a worker, or recorded answers, all run in one way.
namespace onnxkit::diffing {

struct SideRun {
  std::vector<NamedValue> outputs;
  std::vector<RunTime> times;
  std::vector<std::string> moved;             ///< outputs whose channels were moved to where `wanted` has them
  std::map<std::string, std::string> absent;  ///< outputs that `wanted` has and the side has not, of kind none, and why
  std::vector<std::string> moved_inputs;      ///< inputs whose channels were moved to where the side has them
  std::vector<std::string> cast_inputs;       ///< inputs that the side takes in another floating type

  void take(MatchedOutputs matched) {
    outputs = std::move(matched.values);
    moved = std::move(matched.moved);
    absent = std::move(matched.absent);
  }
};

class Side {
 public:
  virtual ~Side() = default;
  /// Runs set number `index`. `wanted` are the outputs that the caller knows: values by the first side's names, empty when this is the first
  /// side; the answer bears their names and layouts where they can be told.
  virtual Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) = 0;
  /// Of its inputs and outputs.
  virtual std::vector<std::string> names() const = 0;
};

/// Opens a side; what it is goes into the report, also when it cannot be opened.
Result<std::unique_ptr<Side>> open_side(const DiffSide& side, const DiffOptions& options, SideReport& report);

Result<std::unique_ptr<Side>> open_reference(const DiffSide& side, const DiffOptions& options, SideReport& report);
Result<std::unique_ptr<Side>> open_worker(const DiffSide& side, const DiffOptions& options, SideReport& report);
Result<std::unique_ptr<Side>> open_recorded(const DiffSide& side);

workers::WorkerLimits worker_limits(const DiffOptions& options);

}  // namespace onnxkit::diffing
