#include "libonnxkit/diff/run_worker.h"

#include "libonnxkit/diff/cut_model.h"
#include "libonnxkit/diff/side.h"

namespace onnxkit::diffing {
namespace {

DiffOptions worker_options(const RunOptions& options) {
  DiffOptions out;
  out.warmup = 0;
  out.worker_folders = options.workers.folders;
  out.python = options.workers.python;
  out.start_limit_ms = options.workers.start_limit_ms;
  out.load_limit_ms = options.workers.load_limit_ms;
  out.run_limit_ms = options.workers.run_limit_ms;
  out.worker_memory_limit = options.workers.memory_limit;
  out.schemas = options.schemas;
  out.allow_outside_data = options.allow_outside_data;
  out.stop = options.stop;
  return out;
}

/// The model with the taps as outputs behind its own.
Result<std::shared_ptr<const Model>> tapped_model(const Model& model, const RunOptions& options,
                                                  const DiffOptions& worker) {
  if (options.taps.empty()) return std::shared_ptr<const Model>(&model, [](const Model*) {});
  auto copy = fresh_copy(model, worker);
  if (!copy) return copy.error();
  std::vector<std::string> names = output_names(model);
  names.insert(names.end(), options.taps.begin(), options.taps.end());
  set_outputs(copy->ir(), names);
  return std::make_shared<const Model>(*std::move(copy));
}

}  // namespace

Result<void> run_in_worker(const Model& model, const RunOptions& options, RunReport& report) {
  if (options.wide || options.on_node)
    return make_error("not-supported", "only the reference can leave numbers unrounded or tell the time of each node");
  const DiffOptions worker = worker_options(options);
  auto tapped = tapped_model(model, options, worker);
  if (!tapped) return tapped.error();
  DiffSide side;
  side.backend = options.backend;
  side.options = options.backend_options;
  side.model = *std::move(tapped);
  SideReport about;
  auto open = open_worker(side, worker, about);
  if (!open) return open.error();
  InputSet set;
  for (const RunInput& input : report.inputs) set.values.push_back({input.name, input.value});
  auto answer = (*open)->run(set, 0, {});
  if (!answer) return answer.error();
  report.prepare_seconds = about.load_seconds;
  for (const RunTime& time : answer->times) report.run_seconds += time.wall;
  const std::size_t own = output_names(model).size();
  for (std::size_t i = 0; i < answer->outputs.size(); ++i) {
    NamedValue& output = answer->outputs[i];
    if (i < own) {
      report.outputs.push_back(std::move(output));
    } else if (options.on_value) {
      if (auto taken = options.on_value(output.name, output.value); !taken) return taken;
    }
  }
  return {};
}

}  // namespace onnxkit::diffing
