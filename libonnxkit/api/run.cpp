#include "onnxkit/run.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/diff/run_worker.h"
#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/ports.h"
#include "libonnxkit/inputs/bound_sizes.h"
#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/ir/dim/dim_names.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/load_table.h"
#include "reference/executor/reference_model.h"

namespace onnxkit {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The values in the order of the graph's inputs; kind none where none was given.
Result<std::vector<Value>> arrange(const ir::Graph& graph, std::vector<NamedValue> given) {
  std::vector<Value> values(graph.inputs.size());
  std::vector<std::string_view> names;
  for (const ir::ValueInfo& input : graph.inputs) names.push_back(graph.name_of(input.value));
  for (NamedValue& named : given) {
    const auto found = std::find(names.begin(), names.end(), named.name);
    if (found == names.end()) return unknown_name("unknown-input", "input", named.name, names);
    values[static_cast<std::size_t>(found - names.begin())] = std::move(named.value);
  }
  return values;
}

std::optional<Error> unknown_tap(const ir::Graph& graph, const std::vector<std::string>& taps) {
  std::vector<std::string_view> written;
  for (const ir::Node& node : graph.nodes) {
    for (const ir::ValueId id : node.outputs) written.push_back(graph.name_of(id));
  }
  for (const std::string& tap : taps) {
    if (std::find(written.begin(), written.end(), tap) == written.end())
      return unknown_name("unknown-value", "value that a node of its main graph writes, named", tap, written);
  }
  return std::nullopt;
}

/// Where nodes are, for events that know graph and index only.
class Locations {
 public:
  explicit Locations(const ir::Model& model) {
    for (const auto& scope : ir::graph_scopes(model)) scopes_.emplace(scope->graph, scope->path);
  }
  Location at(const ir::Graph* graph, std::size_t index) const {
    return ir::location_of_node(scopes_.at(graph), *graph, index);
  }

 private:
  std::unordered_map<const ir::Graph*, std::vector<std::string>> scopes_;
};

exec::RunOptions backend_options(const ir::Model& model, const RunOptions& options) {
  exec::RunOptions out;
  out.rounding = options.wide ? exec::Rounding::wide : exec::Rounding::spec;
  out.threads = options.threads;
  out.seed = options.seed;
  out.memory_limit = options.memory_limit;
  out.time_limit = std::chrono::milliseconds(options.time_limit_ms);
  out.iteration_limit = options.iteration_limit;
  out.stop = options.stop;
  out.taps = options.taps;
  out.on_value = options.on_value;
  if (options.on_node) {
    const auto locations = std::make_shared<Locations>(model);
    out.on_node = [locations, tell = options.on_node](const exec::NodeEvent& event) {
      tell({locations->at(event.graph, event.node), std::chrono::duration<double>(event.wall).count(),
            event.live_bytes});
    };
  }
  return out;
}

}  // namespace

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  if (!model.has_graph()) return names;
  const ir::Graph& graph = *model.ir().graph;
  const auto defaults = exec::default_names(graph);
  for (const ir::ValueInfo& input : graph.inputs) {
    if (!defaults.contains(graph.name_of(input.value))) names.emplace_back(graph.name_of(input.value));
  }
  return names;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  if (!model.has_graph()) return names;
  for (const ir::ValueInfo& output : model.ir().graph->outputs)
    names.emplace_back(model.ir().graph->name_of(output.value));
  return names;
}

Result<std::vector<RunInput>> complete_inputs(const Model& model, std::vector<NamedValue> given,
                                              const RunOptions& options) {
  const ir::Model& ir = model.ir();
  if (!ir.graph) return make_error("no-graph", "the model has no graph to run");
  if (auto error = ir::unknown_dimension(ir, options.dims)) return *std::move(error);
  const auto table = spec::load_table(options.schemas);
  if (!table) return table.error();
  auto values = arrange(*ir.graph, std::move(given));
  if (!values) return values.error();
  const auto sizes = inputs::bound_sizes(*ir.graph, *values, options.dims);
  if (!sizes) return sizes.error();
  std::vector<inputs::GeneratedInput> made(values->size());
  if (options.make_up_inputs) {
    auto generated = inputs::generate_inputs(
        ir, *table, *values, {.dims = *sizes, .seed = options.seed, .memory_limit = options.memory_limit});
    if (!generated) return generated.error();
    made = *std::move(generated);
  }
  std::vector<RunInput> inputs;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const bool was_given = (*values)[i].kind != ValueKind::none;
    const bool was_made = made[i].value.kind != ValueKind::none;
    inputs.push_back({std::string(ir.graph->name_of(ir.graph->inputs[i].value)),
                      was_made ? std::move(made[i].value) : std::move((*values)[i]),
                      was_given  ? "given"
                      : was_made ? made[i].description
                                 : "initializer"});
  }
  return inputs;
}

Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options) {
  const ir::Model& ir = model.ir();
  if (!ir.graph) return make_error("no-graph", "the model has no graph to run");
  if (auto error = unknown_tap(*ir.graph, options.taps)) return *std::move(error);

  RunReport report;
  auto completed = complete_inputs(model, std::move(inputs), options);
  if (!completed) return completed.error();
  report.inputs = *std::move(completed);
  if (options.backend != "reference") {
    auto done = diffing::run_in_worker(model, options, report);
    return done ? Result<RunReport>(std::move(report)) : done.error();
  }
  const auto start = Clock::now();
  const auto reference = reference::ReferenceModel::make(ir, options.schemas, options.allow_outside_data);
  if (!reference) return reference.error();
  auto session = (*reference)->session();
  if (!session) return session.error();
  report.prepare_seconds = seconds_since(start);

  std::vector<Value> values;
  for (const RunInput& input : report.inputs) values.push_back(input.value);
  const auto begin = Clock::now();
  auto outputs = (*session)->run(values, backend_options(ir, options));
  if (!outputs) return outputs.error();
  report.run_seconds = seconds_since(begin);
  for (std::size_t i = 0; i < outputs->size(); ++i)
    report.outputs.push_back({std::string(ir.graph->name_of(ir.graph->outputs[i].value)), std::move((*outputs)[i])});
  return report;
}

}  // namespace onnxkit
