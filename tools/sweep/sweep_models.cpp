#include "tools/sweep/sweep_models.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "libonnxkit/base/system/thread_pool.h"
#include "onnxkit/bench.h"
#include "onnxkit/diagnostic.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/options/models.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/sweep/store.h"

namespace onnxkit::tools {
namespace {

std::string state_of(const std::string& path) {
  DiffSide side;
  side.path = path;
  return model_state(side);
}

SweepOutcome outcome_of(const JobEnd& end) {
  if (end.is_late) return SweepOutcome::late;
  if (!end.signal.empty()) return SweepOutcome::crashed;
  if (!end.status || *end.status > static_cast<int>(Outcome::finding)) return SweepOutcome::failed;
  return *end.status == 0 ? SweepOutcome::ok : SweepOutcome::finding;
}

class Sweeping {
 public:
  Sweeping(const SweepSettings& settings, const SweepTask& task)
      : settings_(settings),
        task_(task),
        inputs_(expand_models(settings.models, task.command() == "convert" ? Searched::all_formats : Searched::onnx)),
        progress_("sweeping", inputs_.size(), settings.notes),
        results_(inputs_.size()) {}

  Result<SweepReport> run() {
    if (auto opened = open_store(); !opened) return opened.error();
    auto jobs = jobs_to_do();
    const auto on_end = [&](JobEnd end) { return take(std::move(end)); };
    const auto ran = settings_.cluster.address.empty()
                         ? run_here(jobs, limits(), on_end, interrupt_.token())
                         : run_on_ray(jobs, limits(), settings_.cluster, on_end, interrupt_.token());
    SweepReport sweep;
    sweep.command = task_.words();
    sweep.failure = ran ? fault_ : ran.error();
    for (std::optional<SweepResult>& result : results_) {
      if (result)
        sweep.results.push_back(*std::move(result));
      else
        ++sweep.left;
    }
    if (sweep.failure && (is_misused_ || sweep.results.empty())) return *sweep.failure;
    return sweep;
  }

 private:
  Result<void> open_store() {
    if (settings_.resume.empty()) return {};
    auto store = SweepStore::open(settings_.resume, task_.words());
    if (!store) return store.error();
    store_ = *std::move(store);
    return {};
  }

  JobLimits limits() const {
    // What measures needs the machine for itself.
    const auto usual = task_.command() == "bench" && settings_.cluster.address.empty() ? usable_cores() : 1;
    return {settings_.processors > 0 ? static_cast<int>(settings_.processors) : usual, settings_.time_ms};
  }

  std::vector<SweepJob> jobs_to_do() {
    std::vector<SweepJob> jobs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ModelInput& input = inputs_[i];
      SweepResult planned;
      planned.model = input.path;
      if (input.fault) {
        planned.outcome = SweepOutcome::failed;
        planned.report = {{"error", diagnostic_json(*input.fault)}};
        results_[i] = std::move(planned);
        progress_.advance();
        continue;
      }
      if (store_) planned.model_state = state_of(input.path);
      const SweepResult* known = store_ ? store_->find(input.path, planned.model_state) : nullptr;
      if (known) {
        results_[i] = *known;
        results_[i]->is_kept = true;
        progress_.advance();
        continue;
      }
      states_.resize(inputs_.size());
      states_[i] = std::move(planned.model_state);
      jobs.push_back(job_for(i));
    }
    return jobs;
  }

  SweepJob job_for(std::size_t index) const {
    const ModelInput& input = inputs_[index];
    const std::string path = settings_.cluster.address.empty()
                                 ? input.path
                                 : std::filesystem::absolute(input.path).lexically_normal().string();
    return {index, task_.words_for(input, path), path};
  }

  /// Whether the sweep goes on.
  bool take(JobEnd end) {
    if (end.status == static_cast<int>(Outcome::usage)) {
      is_misused_ = true;
      fault_ = make_error("usage", end.messages.substr(0, end.messages.find('\n')));
      return false;
    }
    SweepResult result{.model = inputs_[end.index].path,
                       .model_state = states_[end.index],
                       .outcome = outcome_of(end),
                       .status = end.status,
                       .signal = std::move(end.signal),
                       .seconds = end.seconds,
                       .cpu_seconds = end.cpu_seconds,
                       .peak_bytes = end.peak_bytes,
                       .host = std::move(end.host),
                       .output = {},
                       .messages = end.failure.empty() ? std::move(end.messages) : std::move(end.failure)};
    result.report = Json::parse(end.output, nullptr, false);
    if (result.report.is_discarded()) {
      result.report = nullptr;
      result.output = std::move(end.output);
    }
    progress_.start(result.model + ": " + name_of(result.outcome));
    progress_.advance();
    if (store_) {
      if (auto added = store_->add(result); !added) fault_ = added.error();
    }
    results_[end.index] = std::move(result);
    return !fault_;
  }

  const Interrupt interrupt_{Interrupt::Signals::interrupt_and_terminate};  // before the thread of the progress
  const SweepSettings& settings_;
  const SweepTask& task_;
  const std::vector<ModelInput> inputs_;
  Progress progress_;
  std::optional<SweepStore> store_;
  std::vector<std::string> states_;
  std::vector<std::optional<SweepResult>> results_;
  bool is_misused_ = false;  ///< the command refuses its words
  std::optional<Error> fault_;
};

}  // namespace

Result<SweepReport> sweep_models(const SweepTask& task, const SweepSettings& settings) {
  return Sweeping(settings, task).run();
}

}  // namespace onnxkit::tools
