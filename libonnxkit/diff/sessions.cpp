#include "libonnxkit/diff/sessions.h"

#include <utility>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::diffing {

Sessions::Sessions(const DiffOptions& options)
    : options_(options),
      registry_(all_backends()),
      settings_(exec::settings_of(options.context.workers(), options.stop)) {}

Limits Sessions::limits() const { return options_.context.limits(options_.limits); }

exec::LoadOptions Sessions::load_options() const {
  exec::LoadOptions load;
  load.context = exec::sessions_of(options_.context);
  load.table = options_.context.shared_table();
  load.threads = limits().threads;
  load.allow_outside_data = options_.allow_outside_data;
  load.time_limit = std::chrono::milliseconds(options_.context.workers().limits.load_ms);
  load.limits.memory = limits().memory_bytes;
  load.stop = options_.stop;
  return load;
}

Result<std::unique_ptr<exec::Session>> Sessions::load_perturbed(const std::shared_ptr<const ir::Model>& model) const {
  std::unique_ptr<exec::Backend> backend;
  exec::LoadOptions load = load_options();
  if (floor_backend_.empty()) {
    backend = registry_.make_perturbed();
  } else if (auto entry = registry_.find(floor_backend_, settings_)) {
    backend = entry->make(settings_);
    load.options = floor_options_;
  }
  if (!backend) return make_error("not-supported", "no backend tells how far rounding may move results");
  auto session = backend->load({.model = model}, load);
  if (session && !(*session)->perturbed())
    return make_error("not-supported", "the backend does not tell how far rounding may move the results of this model");
  return session;
}

void Sessions::take_floor_from(const std::string& backend, const std::map<std::string, std::string>& options) {
  floor_backend_ = backend;
  floor_options_ = options;
}

std::shared_ptr<const ir::Model> ir_of(const std::shared_ptr<const Model>& model) {
  return model ? std::shared_ptr<const ir::Model>(model, &model->ir()) : nullptr;
}

}  // namespace onnxkit::diffing
