#include <chrono>
#include <ctime>

#include "libonnxkit/diff/ports.h"
#include "libonnxkit/diff/side.h"
#include "onnxkit/run.h"
#include "reference/executor/backend.h"
#include "reference/executor/reference_model.h"

namespace onnxkit::diffing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// CPU time of this process. Workers are idle while the reference runs, and have processes of their own.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class ReferenceSide : public Side {
 public:
  ReferenceSide(const DiffOptions& options, std::unique_ptr<reference::ReferenceModel> reference,
                std::unique_ptr<exec::Session> session)
      : options_(options), reference_(std::move(reference)), session_(std::move(session)) {}

  Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) override {
    const ir::Graph& graph = *reference_->model().graph;
    auto inputs = inputs_for(graph, set, options_.names);
    if (!inputs) return inputs.error();
    exec::RunOptions run;
    run.threads = options_.threads;
    run.stop = options_.stop;
    run.time_limit = std::chrono::milliseconds(options_.run_limit_ms);
    SideRun answer;
    answer.moved_inputs = std::move(inputs->moved);
    answer.cast_inputs = std::move(inputs->cast);
    const std::vector<Value> given = values_of(std::move(inputs->values));
    std::vector<Value> values;
    for (int i = index == 0 ? -options_.warmup : 0; i < options_.repeat; ++i) {
      const auto start = Clock::now();
      const double cpu = cpu_seconds();
      auto outputs = session_->run(given, run);
      if (!outputs) return outputs.error();
      if (i >= 0) answer.times.push_back({seconds_since(start), cpu_seconds() - cpu});
      values = *std::move(outputs);
    }
    std::vector<NamedValue> named;
    for (std::size_t i = 0; i < values.size(); ++i)
      named.push_back({std::string(graph.name_of(graph.outputs[i].value)), std::move(values[i])});
    auto matched = matched_outputs(named, wanted, options_.names);
    if (!matched) return matched.error();
    answer.take(*std::move(matched));
    return answer;
  }

  std::vector<std::string> names() const override {
    const ir::Graph& graph = *reference_->model().graph;
    std::vector<std::string> names;
    for (const auto* infos : {&graph.inputs, &graph.outputs}) {
      for (const ir::ValueInfo& info : *infos) names.emplace_back(graph.name_of(info.value));
    }
    return names;
  }

 private:
  const DiffOptions& options_;
  std::unique_ptr<reference::ReferenceModel> reference_;
  std::unique_ptr<exec::Session> session_;
};

}  // namespace

Result<std::unique_ptr<Side>> open_reference(const DiffSide& side, const DiffOptions& options, SideReport& report) {
  report.version = reference::ReferenceBackend().version();
  report.device = "cpu";
  report.arithmetic = name_of(Profile::float32);
  report.failed_at = "load";
  if (!side.model) return make_error("not-supported", "the reference runs ONNX models only");
  if (!side.options.empty())
    return make_error("unknown-option", "the reference has no option " + quote(side.options.begin()->first));
  const auto start = Clock::now();
  auto reference = reference::ReferenceModel::make(side.model->ir(), options.schemas, options.allow_outside_data);
  if (!reference) return reference.error();
  const bool runs_often = options.repeat > 1;
  auto session = (*reference)->session(runs_often ? exec::usual_kept_bytes : 0);
  if (!session) return session.error();
  report.load_seconds = seconds_since(start);
  return std::unique_ptr<Side>(new ReferenceSide(options, *std::move(reference), *std::move(session)));
}

}  // namespace onnxkit::diffing
