#include "libonnxkit/diff/sessions.h"

#include <utility>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/spec/load_table.h"

namespace onnxkit::diffing {

Sessions::Sessions(const DiffOptions& options) : options_(options), registry_(all_backends()) {
  settings_.worker_folders = options.worker_folders;
  settings_.python = options.python;
  settings_.start_limit = std::chrono::milliseconds(options.start_limit_ms);
  settings_.process_memory = options.worker_memory_limit;
  settings_.stop = options.stop;
}

Result<exec::LoadOptions> Sessions::load_options() {
  if (!table_) {
    auto table = spec::load_table(options_.schemas);
    if (!table) return table.error();
    table_ = std::make_shared<const spec::OpTable>(*std::move(table));
  }
  exec::LoadOptions load;
  load.context = context_;
  load.table = table_;
  load.threads = options_.threads;
  load.allow_outside_data = options_.allow_outside_data;
  load.time_limit = std::chrono::milliseconds(options_.load_limit_ms);
  load.stop = options_.stop;
  return load;
}

std::shared_ptr<const ir::Model> ir_of(const std::shared_ptr<const Model>& model) {
  return model ? std::shared_ptr<const ir::Model>(model, &model->ir()) : nullptr;
}

}  // namespace onnxkit::diffing
