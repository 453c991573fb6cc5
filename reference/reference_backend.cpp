#include <chrono>
#include <utility>

#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/exec/threads_option.h"
#include "libonnxkit/wire/external/external_data.h"
#include "reference/executor/executor.h"

namespace onnxkit::reference {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A model and all that its executor needs beside it.
class ReferenceSession : public exec::Session, public exec::PerturbedSamples {
 public:
  ReferenceSession(std::shared_ptr<const ir::Model> model, const exec::LoadOptions& options)
      : model_(std::move(model)),
        table_(options.table ? options.table : std::make_shared<const spec::OpTable>()),
        external_(model_->path, {.allow_outside = options.allow_outside_data, .verify_checksums = false}),
        math_(options.math),
        threads_(exec::threads_of(options)),
        products_(options.products) {}

  Result<void> prepare(const exec::LoadOptions& options) {
    const auto start = Clock::now();
    auto executor =
        Executor::make(*model_, *table_,
                       {.external_bytes = [this](const ir::Tensor& tensor) { return external_.bytes(tensor); },
                        .kept_bytes = options.kept_bytes,
                        .context = options.context});
    if (!executor) return executor.error();
    executor_ = *std::move(executor);
    inputs_ = exec::describe_inputs(*model_->graph);
    outputs_ = exec::describe_outputs(*model_->graph);
    report_.seconds = seconds_since(start);
    return {};
  }

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }
  exec::PerturbedSamples* perturbed() override { return this; }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    const auto values = exec::arrange(inputs_, request.inputs);
    if (!values) return values.error();
    const RunOptions options = run_options(request);
    exec::RunAnswer answer;
    std::vector<onnxkit::Value> last;
    for (int i = -request.warmup; i < std::max(request.repeat, 1); ++i) {
      const auto start = Clock::now();
      const double cpu = request.is_measured ? own_cpu_seconds() : 0;
      auto outputs = executor_->run(*values, options);
      if (!outputs) return outputs.error();
      if (i >= 0 && request.is_measured) answer.samples.push_back({seconds_since(start), own_cpu_seconds() - cpu});
      last = *std::move(outputs);
    }
    for (std::size_t i = 0; i < last.size(); ++i) answer.outputs.push_back({outputs_[i].name, std::move(last[i])});
    auto selected = exec::select_outputs(std::move(answer.outputs), request.outputs);
    if (!selected) return selected.error();
    answer.outputs = *std::move(selected);
    return answer;
  }

  Result<std::vector<exec::Spread>> run(const exec::RunRequest& request,
                                        const exec::PerturbedOptions& options) override {
    const auto values = exec::arrange(inputs_, request.inputs);
    if (!values) return values.error();
    return executor_->run_perturbed(*values, options, run_options(request));
  }

 private:
  RunOptions run_options(const exec::RunRequest& request) const {
    return {.math = math_,
            .threads = threads_,
            .products = products_,
            .seed = request.seed,
            .memory_limit = request.limits.memory,
            .time_limit = request.limits.time,
            .time_spent = request.limits.spent,
            .iteration_limit = request.limits.iterations,
            .stop = request.stop,
            .taps = request.taps,
            .on_value = request.on_value,
            .on_node = request.on_node};
  }

  std::shared_ptr<const ir::Model> model_;
  std::shared_ptr<const spec::OpTable> table_;
  wire::ExternalData external_;
  exec::MathMode math_;
  int threads_;
  std::shared_ptr<exec::ProductDevice> products_;
  std::unique_ptr<Executor> executor_;  // of model_ and table_, with the bytes of external_
  std::vector<exec::ValueDesc> inputs_, outputs_;
  exec::LoadReport report_;
};

class ReferenceBackend : public exec::Backend {
 public:
  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc desc;
    desc.name = "reference";
    desc.runtime = "onnxkit";
    desc.version = ONNXKIT_VERSION;
    desc.title = "onnxkit " + desc.version;
    desc.devices = {"cpu"};
    desc.formats = {"onnx"};
    desc.arithmetic = name_of(Profile::float32);
    desc.options[exec::threads_option] = exec::describe_threads_option();
    desc.capabilities.in_memory = true;
    desc.capabilities.taps = true;
    desc.capabilities.perturbed_samples = true;
    desc.capabilities.profile = exec::ProfileDetail::node;
    desc.capabilities.math_modes = {exec::MathMode::declared, exec::MathMode::unrounded};
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    if (!source.model) return make_error("not-supported", "the reference runs ONNX models only");
    if (auto checked = exec::check_load(*describe(), source, options); !checked) return checked.error();
    auto session = std::make_unique<ReferenceSession>(source.model, options);
    if (auto prepared = session->prepare(options); !prepared) return prepared.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }
};

}  // namespace

void register_reference_backend(exec::BackendRegistry& registry);
void register_reference_backend(exec::BackendRegistry& registry) {
  registry.add({.name = "reference",
                .make = [](const exec::BackendSettings&) { return std::make_unique<ReferenceBackend>(); },
                .perturbed_samples = true});
}

}  // namespace onnxkit::reference
