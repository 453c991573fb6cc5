#include <ctime>

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/cpu/session.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CpuSession : public exec::Session {
 public:
  CpuSession(std::shared_ptr<const ir::Model> model, Shared shared)
      : original_(std::move(model)),
        shared_(std::move(shared)),
        inputs_(exec::describe_inputs(*original_->graph)),
        outputs_(exec::describe_outputs(*original_->graph)) {}

  /// Brings the model to what plans are made from; makes the plan when all sizes are known.
  Result<void> prepare() {
    const auto start = Clock::now();
    planned_ = std::make_unique<Planned>(std::make_shared<const ir::Model>(plan::newest(*original_)), shared_, false);
    if (auto known = known_inputs()) {
      if (auto made = planned_->plan_for(*known); !made) return made.error();
    }
    report_.arithmetic = name_of(Profile::float32);
    report_.seconds = seconds_since(start);
    return {};
  }

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }

  std::optional<exec::PlanReport> plan_report() const override {
    exec::PlanReport report;
    planned_->report(report);
    return report;
  }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    const auto values = exec::arrange(inputs_, request.inputs);
    if (!values) return values.error();
    if (const auto fits = exec::check_inputs(*original_->graph, *values); !fits) return fits.error();
    std::vector<NamedValue> given;
    for (std::size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i].kind != ValueKind::none) given.push_back({inputs_[i].name, (*values)[i]});
    }
    const auto threads = shared_.options.context->threads(shared_.options.threads);
    exec::RunAnswer answer;
    try {
      for (int i = -request.warmup; i < std::max(request.repeat, 1); ++i) {
        const auto start = Clock::now();
        const double cpu = cpu_seconds();
        const auto deadline = request.limits.time.count() == 0 ? Clock::time_point::max() : start + request.limits.time;
        auto outputs = planned_->run(given, request, *threads, deadline);
        if (!outputs) return outputs.error();
        if (i >= 0) answer.samples.push_back({seconds_since(start), cpu_seconds() - cpu});
        answer.outputs = *std::move(outputs);
      }
    } catch (const std::bad_alloc&) {
      return make_error("out-of-memory", "the system has not enough memory");
    }
    auto selected = exec::select_outputs(std::move(answer.outputs), request.outputs);
    if (!selected) return selected.error();
    answer.outputs = *std::move(selected);
    return answer;
  }

 private:
  /// Inputs without content for the plan, when their sizes are all stated.
  std::optional<std::vector<NamedValue>> known_inputs() const {
    std::vector<NamedValue> known;
    for (const exec::ValueDesc& input : inputs_) {
      if (input.optional) continue;
      std::vector<std::int64_t> dims = input.dims;
      bool has_shape = input.has_shape;
      if (const auto given = shared_.options.shapes.find(input.name); given != shared_.options.shapes.end()) {
        dims = given->second;
        has_shape = true;
      }
      const bool is_open = std::any_of(dims.begin(), dims.end(), [](std::int64_t size) { return size < 0; });
      if (input.kind != ValueKind::tensor || !has_shape || is_open || input.type == ElementType::string)
        return std::nullopt;
      std::int64_t count = 1;
      constexpr std::int64_t most = std::int64_t{1} << 28;
      for (const std::int64_t size : dims) {
        if (size > most || count > most) return std::nullopt;
        count *= size;
      }
      if (count > most) return std::nullopt;
      const auto bytes = (static_cast<std::size_t>(count) * static_cast<std::size_t>(storage_bits(input.type)) + 7) / 8;
      auto tensor = Tensor::from_bytes(input.type, dims, std::vector<std::byte>(bytes));
      if (!tensor) return std::nullopt;
      known.push_back({input.name, *std::move(tensor)});
    }
    return known;
  }

  std::shared_ptr<const ir::Model> original_;
  Shared shared_;
  std::vector<exec::ValueDesc> inputs_, outputs_;
  std::unique_ptr<Planned> planned_;
  exec::LoadReport report_;
};

constexpr const char* without_pass = "without-pass";

class CpuBackend : public exec::Backend {
 public:
  explicit CpuBackend(exec::BackendSettings settings) : settings_(std::move(settings)) {}

  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc desc;
    desc.name = "cpu";
    desc.runtime = "onnxkit";
    desc.version = ONNXKIT_VERSION;
    desc.title = "onnxkit cpu " + desc.version;
    desc.devices = {"cpu"};
    desc.formats = {"onnx"};
    desc.arithmetic = name_of(Profile::float32);
    desc.options[without_pass] = {
        .help = "passes that the plan is made without, with + between their names", .fallback = "", .values = {}};
    desc.capabilities.in_memory = true;
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    if (!source.model) return make_error("not-supported", "the backend cpu runs ONNX models only");
    if (!source.model->graph) return make_error("no-graph", "the model has no graph");
    if (auto checked = exec::check_load(*describe(), source, options); !checked) return checked.error();
    Shared shared;
    shared.options = options;
    if (!shared.options.context) shared.options.context = std::make_shared<exec::SessionContext>();
    shared.table = options.table ? options.table : std::make_shared<spec::OpTable>();
    if (const auto given = options.options.find(without_pass); given != options.options.end()) {
      auto names = passes_named(given->second);
      if (!names) return names.error();
      shared.without_passes = *std::move(names);
    }
    exec::BackendRegistry registry;
    reference::register_reference_backend(registry);
    auto host = registry.find("reference", settings_);
    if (!host) return host.error();
    shared.host = host->make(settings_);
    // What neither a plan nor the reference can run is said now.
    if (auto runs = shared.host->load(source, {.context = shared.options.context,
                                               .table = shared.table,
                                               .allow_outside_data = options.allow_outside_data});
        !runs)
      return runs.error();
    auto session = std::make_unique<CpuSession>(source.model, std::move(shared));
    if (auto prepared = session->prepare(); !prepared) return prepared.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }

 private:
  static Error unknown_pass(std::string_view name, const std::vector<std::string>& known) {
    Error error = unknown_name("unknown-option", "pass", name, {known.begin(), known.end()});
    error.diagnostic.message = "a plan has no pass " + quote(name);
    return error;
  }

  static Result<std::set<std::string, std::less<>>> passes_named(std::string_view list) {
    const std::vector<std::string> known = plan::pass_names();
    std::set<std::string, std::less<>> names;
    while (!list.empty()) {
      const std::size_t end = std::min(list.find('+'), list.size());
      const std::string_view name = list.substr(0, end);
      list.remove_prefix(std::min(end + 1, list.size()));
      if (name.empty()) continue;
      if (std::find(known.begin(), known.end(), name) == known.end()) return unknown_pass(name, known);
      names.emplace(name);
    }
    return names;
  }

  exec::BackendSettings settings_;
};

}  // namespace

void register_cpu_backend(exec::BackendRegistry& registry);
void register_cpu_backend(exec::BackendRegistry& registry) {
  registry.add({.name = "cpu",
                .make = [](const exec::BackendSettings& settings) { return std::make_unique<CpuBackend>(settings); }});
}

}  // namespace onnxkit::cpu
