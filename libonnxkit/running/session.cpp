#include "libonnxkit/running/session.h"

#include <chrono>
#include <utility>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/running/limits.h"
#include "libonnxkit/running/load_options.h"

namespace onnxkit::running {
namespace {

std::vector<SessionPort> as_ports(const std::vector<exec::ValueDesc>& described) {
  std::vector<SessionPort> ports;
  for (const exec::ValueDesc& desc : described) {
    SessionPort& port = ports.emplace_back();
    port.name = desc.name;
    port.kind = desc.kind;
    port.type = desc.type;
    if (desc.has_shape) port.dims = desc.dims;
    port.has_default = desc.optional;
  }
  return ports;
}

exec::LoadOptions session_load_options(const SessionOptions& options, const exec::Capabilities& capabilities) {
  exec::LoadOptions load = load_options_of(options);
  load.kept_bytes = exec::usual_kept_bytes;
  const Limits limits = options.context.limits(options.limits);
  if (!capabilities.own_process) load.limits = {.memory = limits.memory_bytes, .iterations = limits.iterations};
  return load;
}

}  // namespace

ModelPorts ports_of(const Model& model) {
  if (!model.has_graph()) return {};
  const ir::Graph& graph = *model.ir().graph;
  return {as_ports(exec::describe_inputs(graph)), as_ports(exec::describe_outputs(graph))};
}

Result<LoadedModel> LoadedModel::load(const Model& model, const SessionOptions& options) {
  if (!model.has_graph()) return make_error("no-graph", "the model has no graph to run");
  const exec::BackendSettings settings = exec::settings_of(options.context.workers(), options.stop);
  const auto entry = all_backends().find(options.backend, settings);
  if (!entry) return entry.error();
  LoadedModel loaded;
  loaded.backend_ = entry->make(settings);
  const auto desc = loaded.backend_->describe();
  if (!desc) return desc.error();
  loaded.capabilities_ = desc->capabilities;
  loaded.context_ = options.context;
  loaded.limits_ = options.limits;
  // A copy shares weights and text with the caller's, which may change or end.
  const auto own = std::make_shared<const Model>(model);
  loaded.ports_ = running::ports_of(*own);
  auto session = loaded.backend_->load({.model = {own, &own->ir()}, .path = options.unchanged_file},
                                       session_load_options(options, desc->capabilities));
  if (!session) return session.error();
  loaded.session_ = *std::move(session);
  return loaded;
}

Result<std::vector<NamedValue>> LoadedModel::run(const std::vector<NamedValue>& inputs, const SessionRun& options) {
  exec::RunRequest request;
  request.inputs = inputs;
  request.outputs = options.outputs;
  request.is_measured = false;
  request.seed = options.seed;
  request.stop = options.stop;
  request.limits = run_limits(capabilities_, context_, limits_, std::chrono::steady_clock::now());
  auto answer = session_->run(request);
  if (!answer) return answer.error();
  return std::move(answer->outputs);
}

}  // namespace onnxkit::running
