#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/diff/matching.h"
#include "libonnxkit/diff/sessions.h"
#include "libonnxkit/exec/backend.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

struct SideRun {
  std::vector<NamedValue> outputs;
  std::vector<RunTime> times;
  std::optional<std::uint64_t> device_bytes;  ///< as exec::RunAnswer has it
  std::vector<std::string> moved;             ///< outputs whose channels were moved to where `wanted` has them
  std::map<std::string, std::string> absent;  ///< outputs that `wanted` has and the side has not, of kind none, and why
  std::vector<std::string> moved_inputs;      ///< inputs whose channels were moved to where the side has them
  std::vector<std::string> cast_inputs;       ///< inputs that the side takes in another floating type
};

/// What was done to a set's inputs for the side, a sentence each.
std::vector<std::string> warnings_of_inputs(const SideRun& run);

/// How the inputs of a failed run were made, and what gives it others, where these may be why it failed.
void tell_of_inputs(Diagnostic& failure, const InputSet& inputs);

/// One side of a comparison: a backend, a session, and a matching of names and layouts. What it was made from must outlive it.
class Side {
 public:
  Side(const DiffSide& side, Sessions& sessions, SideReport& report);

  /// Opens it for so many runs. What the side is goes into the report, also when it cannot be opened.
  Result<void> open(int runs);
  void close();
  bool is_open() const { return session_ != nullptr; }
  /// Of the backend; none until open() has found out.
  const exec::Capabilities& capabilities() const { return capabilities_; }
  /// Its session tells how far rounding may move results, and its own results are exact.
  bool is_exact() const { return session_ && session_->perturbed() != nullptr; }

  /// Runs set number `index`. `wanted` are the outputs that the caller knows: values by the first side's names, empty when this is the first
  /// side; the answer bears their names and layouts where they can be told.
  Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted);
  /// Runs a set once, unmatched.
  Result<SideRun> run_once(const InputSet& set);
  /// So many measured runs of a set, unmatched. An unmeasured one goes before them where several are asked for, as other programs ran before.
  Result<SideRun> measure(const InputSet& set, int runs);
  /// Where the time of so many runs of a set goes, after one unmeasured run.
  Result<exec::RunProfile> profile(const InputSet& set, int runs);
  /// Largest resident size of the backend's process so far, where it has one.
  std::optional<std::uint64_t> peak_bytes() const { return session_->peak_bytes(); }
  /// Seconds that this process has computed.
  std::optional<double> process_cpu_seconds() const { return session_->process_cpu_seconds(); }
  /// Of what the model became, where the backend makes plans.
  std::optional<exec::PlanReport> plan_report() const { return session_->plan_report(); }
  /// The values inside its model, where its backend shows them.
  Result<std::vector<exec::InnerDesc>> inner_values() { return session_->inner_values(); }
  /// The set's values by the names of its inputs.
  Result<std::vector<NamedValue>> inputs(const InputSet& set) const;
  /// Runs a set once for these outputs and values inside, in this order.
  Result<std::vector<NamedValue>> look(const InputSet& set, const std::vector<std::string>& names);
  std::vector<std::string> output_names() const;
  /// Of its inputs and outputs, while it is open.
  std::vector<std::string> names() const;

 private:
  /// The request with its inputs and the limits of the comparison.
  exec::RunRequest limited(exec::RunRequest request, std::vector<NamedValue> inputs) const;
  Result<exec::RunAnswer> run(exec::RunRequest request, std::vector<NamedValue> inputs);
  Result<SideRun> run(exec::RunRequest request, const InputSet& set, const std::vector<NamedValue>& wanted);

  const DiffSide& side_;
  Sessions& sessions_;
  SideReport& report_;
  exec::Capabilities capabilities_;
  std::unique_ptr<exec::Backend> backend_;
  std::unique_ptr<exec::Session> session_;
};

/// Waits until our process and those of the sides compute no more, which threads that spin behind a run do for a while: they take a processor from the
/// side that runs next. Whether they came to rest.
bool let_rest(const std::vector<const Side*>& sides);

}  // namespace onnxkit::diffing
