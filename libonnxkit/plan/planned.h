#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/step_times.h"
#include "libonnxkit/plan/build.h"
#include "libonnxkit/plan/generic_model.h"
#include "libonnxkit/plan/kept_plans.h"
#include "libonnxkit/plan/values_by_name.h"

// What every backend that runs plans does with a model, whatever its steps run on: it makes plans for the sizes that come, keeps the last ones, and
// goes on with the rest of a model when a run has told its sizes.
namespace onnxkit::plan {

/// A run as its steps see it.
struct PlannedRun {
  const exec::RunRequest& request;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  exec::StepTimes* times = nullptr;  ///< null, or of a profile, which wants to know of each step
  std::string_view body =
      {};  ///< whose plans run: "body of node ...", behind those around it; empty for those of the model itself
  std::size_t depth = 0;  ///< how many steps are around that body
  /// Null, or where a backend with a device adds the seconds that the steps took there.
  std::optional<double>* device_seconds = nullptr;
  /// An input that is as it was in the run before, which a backend that keeps it need not copy again.
  std::optional<std::size_t> unchanged_input = {};

  /// Errors: cancelled, time-limit.
  Result<void> may_go_on() const;
  /// The limits of work of the host in it: those of the run, with what is left of its time. That ends no sooner than the run, whose error is the one told.
  exec::RunLimits remaining_limits() const;
  /// A step has run. For a run with `times`.
  void add_time(const Step& step, std::chrono::steady_clock::time_point begin,
                std::chrono::steady_clock::time_point end) const;
};

/// A plan that a backend made ready. One run at a time.
class Executable {
 public:
  Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  virtual ~Executable() = default;

  virtual const Plan& plan() const = 0;
  /// That it alone holds, from its first run on.
  virtual std::uint64_t bytes() const = 0;
  /// Of what plans of its session have in common.
  virtual std::uint64_t shared_bytes() const { return 0; }
  /// Inputs in the order of the plan's, outputs likewise.
  virtual Result<std::vector<Value>> run(std::span<const Value> inputs, const PlannedRun& run) = 0;
};

/// The value of an output that lies in a slot: out of it, unless a later output has it, too.
Value take_slot(const Plan& plan, std::size_t output, std::span<Value> slots);

struct PlannedOptions {
  exec::LoadOptions load;               ///< with a context and a table
  std::shared_ptr<exec::Backend> host;  ///< folds constants and runs host steps
  std::string device = "cpu";           ///< where its steps run, for profiles
  /// Null, or how much memory of its device a session held at most.
  std::function<std::uint64_t()> peak_device_bytes = {};
  std::vector<std::string> notes = {};   ///< on what the backend lacks, for reports on plans
  const PassRegistry* passes = nullptr;  ///< null: pass_registry()
  std::set<std::string, std::less<>> without_passes = {};
  /// Plans of doubles: passes that change numbers are left out, and values pass from plan to plan as float64 whatever their declared type.
  bool exact = false;
  bool prefers_few_steps = false;                     ///< as BuildOptions have it
  bool splits_capped_attention = false;               ///< likewise
  bool plans_bodies = false;                          ///< of If, Loop and Scan: their plans run inside a host step
  Takes takes = {};                                   ///< null: all that lowerings emit
  std::optional<std::string> fault = {};              ///< of the model, as BuildOptions have it
  std::shared_ptr<const ir::Model> original = {};     ///< likewise
  std::shared_ptr<KeptPlans> kept_plans = {};         ///< null: those of this session alone
  std::shared_ptr<wire::ExternalData> external = {};  ///< as BuildOptions have it; null: that of the original
  /// Adds to `refused` the nodes of steps that turn out not to run, with precision and layout as they are now, and fails then: the plan is made anew
  /// with these nodes on the host. Other errors are final, among them those of `run`, which asks for the plan.
  std::function<Result<std::unique_ptr<Executable>>(Plan, HostNodes& refused, const PlannedRun& run)> make;
  /// Asked where a plan finds no memory on the device and no other plan can go: whether it would take less if it were made once more. Null: never.
  std::function<bool()> takes_less = {};
};

/// A model and the plans for the sizes that it was run with. The options outlive it.
class Planned {
 public:
  /// `rests_before`: how many plans run before it, of whose model it is the rest.
  Planned(std::shared_ptr<const ir::Model> model, const PlannedOptions& options, std::size_t rests_before = 0);
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  ~Planned() { kept_plans_->remove(*this); }

  /// The outputs of the model by name. `given` has a value for each input.
  Result<std::vector<NamedValue>> run(const std::vector<NamedValue>& given, const PlannedRun& run);
  /// The text of all plans, and what in them runs on the reference. `of` says what the model is.
  void report(exec::PlanReport& report, const std::string& of = "the model") const;
  /// Adds to the nodes that steps cover those of the model in whose place passes put them.
  void add_replaced_nodes(std::vector<exec::StepTime>& steps) const;
  /// So far from the model as it is, not from a generic one, the rests of models among them.
  std::size_t plans_made() const;
  /// So far, also from generic models, where running takes less time than making the plan.
  std::size_t quick_plans_made() const;
  /// Makes the plan for such inputs, within the limits of this run.
  Result<void> prepare(const std::vector<NamedValue>& given, const PlannedRun& run);

  /// That its plans hold, without those of their rests and bodies.
  std::uint64_t kept_bytes() const;
  /// When the plan was used that was not used for longest; nothing where all run.
  std::optional<std::uint64_t> oldest_use() const;
  void give_up_oldest();

 private:
  static constexpr std::size_t most_plans = 8;
  /// One behind the other, each with a copy of what is left of the model; the rest behind them runs on the host.
  static constexpr std::size_t most_rests = 64;
  struct Entry {
    std::string key;
    std::unique_ptr<Executable> ready;
    std::unique_ptr<Planned> rest;
    std::optional<std::vector<InputSizes>> alone;  ///< until it has run, where it was made from the model
    std::uint64_t use = 0;                         ///< when it was used last
    bool runs = false;
  };

  bool is_rest() const { return rests_before_ > 0; }
  std::string key_of(const std::vector<NamedValue>& given) const;
  /// `run`: which asks, and whose limits hold while a plan is made; one that needs more memory is not made ready.
  Result<Entry*> entry_for(const std::vector<NamedValue>& given, const PlannedRun& run);
  BuildOptions build_options(const PlannedRun& run) const;
  /// As often as the backend refuses further nodes. Other plans are given up where memory is short.
  Result<Entry> make_entry(const std::vector<NamedValue>& given, const PlannedRun& run);
  Result<std::vector<Value>> run_ready(Entry& entry, std::span<const Value> inputs, const PlannedRun& run);
  Result<std::vector<NamedValue>> run_rest(Entry& entry, const ValuesByName& given,
                                           const std::vector<NamedValue>& results, const PlannedRun& run);

  std::shared_ptr<const ir::Model> model_;
  const PlannedOptions& options_;
  std::shared_ptr<KeptPlans> kept_plans_;
  std::size_t rests_before_;
  std::size_t made_ = 0, quick_made_ = 0;
  std::list<Entry> entries_;  ///< the last used first
  GenericModels generics_;
};

/// A session of a backend that runs plans.
class PlannedSession : public exec::Session {
 public:
  PlannedSession(std::shared_ptr<const ir::Model> model, PlannedOptions options);

  /// Brings the model to what plans are made from; makes the plan when all sizes are known.
  Result<void> prepare(std::string arithmetic);

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }
  std::optional<exec::PlanReport> plan_report() const override;
  Result<exec::RunAnswer> run(const exec::RunRequest& request) override;
  Result<exec::RunProfile> profile(const exec::RunRequest& request) override;

 private:
  Result<void> prepare_plan(std::string arithmetic);
  Result<exec::RunAnswer> run_plan(const exec::RunRequest& request);
  Result<exec::RunProfile> profile_plan(const exec::RunRequest& request);
  std::optional<std::vector<NamedValue>> known_inputs() const;
  /// The values of a request for the inputs that have one.
  Result<std::vector<NamedValue>> given_values(const exec::RunRequest& request) const;

  std::shared_ptr<const ir::Model> original_;
  PlannedOptions options_;
  std::vector<exec::ValueDesc> inputs_, outputs_;
  std::unique_ptr<Planned> planned_;
  exec::LoadReport report_;
};

/// What sessions of the host inside a plan are loaded with.
exec::LoadOptions host_load(const exec::LoadOptions& load);

}  // namespace onnxkit::plan
