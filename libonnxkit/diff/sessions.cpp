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
  load.stop = options_.stop;
  return load;
}

std::shared_ptr<const ir::Model> ir_of(const std::shared_ptr<const Model>& model) {
  return model ? std::shared_ptr<const ir::Model>(model, &model->ir()) : nullptr;
}

}  // namespace onnxkit::diffing
