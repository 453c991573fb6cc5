#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/exec/file_for.h"
#include "libonnxkit/exec/guarded.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/workers/worker.h"

namespace onnxkit::workers {
namespace {

/// Messages are JSON, which has no bytes that are not UTF-8.
bool is_sendable(const std::filesystem::path& path) {
  return path.empty() || find_invalid_utf8(std::filesystem::absolute(path).string()) == std::string_view::npos;
}

/// A model in a worker, which the session shares with its backend.
class WorkerSession : public exec::Session {
 public:
  WorkerSession(std::shared_ptr<Worker> worker, const WorkerLimits& limits, LoadedModel model,
                std::shared_ptr<const exec::ModelFile> file)
      : worker_(std::move(worker)), limits_(limits), model_(std::move(model)), file_(std::move(file)) {}

  const std::vector<exec::ValueDesc>& inputs() const override { return model_.inputs; }
  const std::vector<exec::ValueDesc>& outputs() const override { return model_.outputs; }
  const exec::LoadReport& loaded() const override { return model_.report; }

  std::optional<std::uint64_t> peak_bytes() const override { return worker_->peak_bytes(); }
  std::optional<double> process_cpu_seconds() const override { return worker_->cpu_seconds(); }
  Result<std::vector<exec::InnerDesc>> inner_values() override { return worker_->inner_values(model_.id); }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    return exec::guarded([&] { return run_in_worker(request); });
  }
  Result<exec::RunProfile> profile(const exec::RunRequest& request) override {
    return exec::guarded([&] { return profile_in_worker(request); });
  }

 private:
  Result<exec::RunAnswer> run_in_worker(const exec::RunRequest& request) {
    if (!request.taps.empty() || request.on_node)
      return make_error("not-supported", "a worker gives the outputs of its model only");
    prepare(request);
    const std::vector<NamedValue> inputs = given(request);
    return worker_->run(worker_request(request, inputs));
  }

  Result<exec::RunProfile> profile_in_worker(const exec::RunRequest& request) {
    prepare(request);
    const std::vector<NamedValue> inputs = given(request);
    auto profile = worker_->profile(worker_request(request, inputs));
    // A worker that does not know the request answers so.
    if (!profile && profile.error().diagnostic.code == "worker-invalid")
      return make_error("not-supported", "this backend tells nothing of the time of nodes");
    return profile;
  }

  void prepare(const exec::RunRequest& request) {
    WorkerLimits limits = limits_;
    if (request.limits.time.count() != 0) limits.run = request.limits.remaining();
    limits.stop = request.stop;
    worker_->set_limits(limits);
  }

  static std::vector<NamedValue> given(const exec::RunRequest& request) {
    std::vector<NamedValue> given;
    for (const NamedValue& input : request.inputs) {
      if (input.value.kind != ValueKind::none) given.push_back(input);
    }
    return given;
  }

  WorkerRequest worker_request(const exec::RunRequest& request, std::span<const NamedValue> inputs) const {
    return {.model = model_.id,
            .inputs = inputs,
            .outputs = request.outputs,
            .repeat = request.repeat,
            .warmup = request.warmup};
  }

  std::shared_ptr<Worker> worker_;
  WorkerLimits limits_;
  LoadedModel model_;
  std::shared_ptr<const exec::ModelFile> file_;  // that was written for it
};

/// A program that speaks docs/worker-protocol.md, started when it is first needed.
class WorkerBackend : public exec::Backend {
 public:
  WorkerBackend(WorkerProgram program, const exec::BackendSettings& settings)
      : program_(std::move(program)), trusts_files_(settings.trust_files) {
    limits_.start = settings.start_limit;
    limits_.memory = settings.process_memory;
    limits_.stop = settings.stop;
  }

  Result<exec::BackendDesc> describe() override {
    if (!worker_) {
      auto worker = Worker::start(program_, limits_);
      if (!worker) return worker.error();
      worker_ = *std::move(worker);
    }
    const WorkerInfo& info = worker_->info();
    exec::BackendDesc desc;
    desc.name = program_.name;
    desc.runtime = info.runtime;
    desc.version = info.version;
    desc.title = info.runtime + " " + info.version;
    desc.devices = info.devices;
    desc.formats = info.formats;
    desc.options = info.options;
    desc.opsets = info.opsets;
    desc.capabilities.own_process = true;
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    return exec::guarded([&] { return load_in_worker(source, options); });
  }

  std::string log() const override { return worker_ ? worker_->log() : std::string(); }

 private:
  Result<std::unique_ptr<exec::Session>> load_in_worker(const exec::ModelSource& source,
                                                        const exec::LoadOptions& options) {
    const auto desc = describe();
    if (!desc) return desc.error();
    if (auto checked = exec::check_load(*desc, source, options); !checked) return checked.error();
    WorkerLimits limits = limits_;
    if (options.time_limit.count() != 0) limits.load = options.time_limit;
    limits.stop = options.stop;
    const bool can_name = is_sendable(source.path);
    if (!can_name && !source.model)
      return make_error(
          "not-supported",
          fmt::format("{} lies at a path that is not UTF-8, and a message to {} holds no other: rename it",
                      quote(source.path.string()), program_.name));
    std::shared_ptr<const exec::ModelFile> file;
    if (source.path.empty() || !can_name) {
      auto written = exec::file_for(source, options);
      if (!written) return written.error();
      file = *std::move(written);
    }
    worker_->set_limits(limits);
    auto model = worker_->load(file ? file->path() : source.path, source.format, options.options, trusts_files_);
    if (!model) return model.error();
    return std::unique_ptr<exec::Session>(
        std::make_unique<WorkerSession>(worker_, limits, *std::move(model), std::move(file)));
  }

  WorkerProgram program_;
  bool trusts_files_;
  WorkerLimits limits_;
  std::shared_ptr<Worker> worker_;
};

}  // namespace

void register_worker_backend(exec::BackendRegistry& registry);
void register_worker_backend(exec::BackendRegistry& registry) {
  registry.add_discovery([](const exec::BackendSettings& settings) {
    std::vector<exec::BackendEntry> entries;
    for (const WorkerProgram& program : find_workers(settings.worker_folders, settings.python)) {
      entries.push_back(
          {.name = program.name,
           .make =
               [program](const exec::BackendSettings& own) { return std::make_unique<WorkerBackend>(program, own); },
           .own_process = true});
    }
    return entries;
  });
}

}  // namespace onnxkit::workers
