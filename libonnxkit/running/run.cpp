#include "libonnxkit/running/run.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/two_readings.h"
#include "libonnxkit/backends/backends.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/diff/cut_model.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/inputs/bound_sizes.h"
#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/ir/dim/dim_names.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/running/limits.h"
#include "libonnxkit/running/load_options.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::running {
namespace {

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

exec::LoadOptions load_options(const RunOptions& options, const std::vector<RunInput>& inputs) {
  exec::LoadOptions load = load_options_of(options);
  for (const RunInput& input : inputs) {
    if (input.value.is_tensor()) load.shapes[input.name] = input.value.tensor.dims();
  }
  return load;
}

using Clock = std::chrono::steady_clock;

exec::RunRequest run_request(const ir::Model& model, const RunOptions& options) {
  exec::RunRequest request;
  request.seed = options.seed;
  request.stop = options.stop;
  if (options.on_node) {
    const auto locations = std::make_shared<Locations>(model);
    request.on_node = [locations, tell = options.on_node](const exec::NodeEvent& event) {
      tell({locations->at(event.graph, event.node), std::chrono::duration<double>(event.wall).count(),
            event.live_bytes});
    };
  }
  return request;
}

/// The model with the taps as outputs behind its own, for a backend without taps.
Result<exec::ModelSource> tapped_source(const Model& model, const RunOptions& options) {
  DiffOptions copying;
  copying.context = options.context;
  auto copy = diffing::fresh_copy(model, copying);
  if (!copy) return copy.error();
  diffing::add_outputs(copy->ir(), options.taps);
  const auto owned = std::make_shared<const Model>(*std::move(copy));
  return exec::ModelSource{.model = {owned, &owned->ir()}};
}

/// What the options ask of a backend that does not offer it. Error not-supported.
Result<void> check_capabilities(const exec::BackendDesc& backend, const RunOptions& options) {
  const exec::Capabilities& can = backend.capabilities;
  const bool is_rounded =
      std::find(can.math_modes.begin(), can.math_modes.end(), exec::MathMode::unrounded) == can.math_modes.end();
  if (options.unrounded && is_rounded) {
    Error error = make_error("not-supported", fmt::format("the backend {} rounds numbers between nodes, so --wide does "
                                                          "not apply to it",
                                                          quote(backend.name)));
    error.diagnostic.help = "-b reference and -b cuda:precision=f64 run unrounded";
    return error;
  }
  if (!options.on_node || can.profile == exec::ProfileDetail::node) return {};
  const bool has_steps = can.profile == exec::ProfileDetail::step;
  Error error =
      make_error("not-supported", fmt::format("the backend {} measures no times of nodes{}, so --profile does not "
                                              "apply to it",
                                              quote(backend.name), has_steps ? ", but of steps" : ""));
  error.diagnostic.help = has_steps ? "onnxkit bench --profile shows its times by step"
                                    : "onnxkit bench --profile shows times by step where the runtime measures them";
  return error;
}

/// Runs it and fills in the report, which has the inputs; these were asked for at `start`.
Result<void> run_on(exec::Backend& backend, const Model& model, const RunOptions& options, Clock::time_point start,
                    RunReport& report) {
  const auto desc = backend.describe();
  if (!desc) return desc.error();
  if (auto offered = check_capabilities(*desc, options); !offered) return offered.error();
  const exec::Capabilities& can = desc->capabilities;
  const bool taps_as_outputs = !options.taps.empty() && !can.taps;
  // The session does not outlive this call, and the model does.
  const std::shared_ptr<const ir::Model> ir(std::shared_ptr<const void>(), &model.ir());
  auto source = taps_as_outputs ? tapped_source(model, options)
                                : Result<exec::ModelSource>({.model = ir, .path = options.unchanged_file});
  if (!source) return source.error();
  exec::LoadOptions load = load_options(options, report.inputs);
  if (!can.own_process) load.limits = run_limits(can, options.context, options.limits, start);
  const auto session = backend.load(*source, load);
  if (!session) return session.error();
  report.prepare_seconds = (*session)->loaded().seconds;

  exec::RunRequest request = run_request(model.ir(), options);
  request.limits = run_limits(can, options.context, options.limits, start);
  for (const RunInput& input : report.inputs) request.inputs.push_back({input.name, input.value});
  if (can.taps) {
    request.taps = options.taps;
    request.on_value = options.on_value;
  }
  auto answer = (*session)->run(request);
  if (!answer) return answer.error();
  for (const exec::RunSample& sample : answer->samples) report.run_seconds += sample.wall;
  if (auto plan = (*session)->plan_report()) {
    report.plan = std::move(plan->text);
    report.plan_notes = std::move(plan->notes);
  }
  const std::size_t own = model.ir().graph->outputs.size();
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

namespace {

std::string listed(std::vector<std::string> parts, std::size_t most) {
  if (parts.size() > most) parts.resize(most), parts.emplace_back("...");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

void tell_sizes(CompletedInputs& completed, const inputs::GeneratedInputs& generated) {
  if (generated.chosen.empty()) return;
  constexpr std::size_t most_sizes = 8, most_demands = 4;
  completed.notes.push_back(std::string(generated_with) + listed(generated.chosen, most_sizes));
  if (!generated.unmet.empty())
    completed.notes.push_back("no sizes were found for " + listed(generated.unmet, most_demands));
  completed.help = generated.chose_named ? "--dim NAME=SIZE sets the size of a dimension"
                                         : "-i NAME=FILE gives an input of another size";
}

/// A node that cannot work with inputs of chosen sizes may work with others.
Error with_chosen_sizes(Error error, const CompletedInputs& completed) {
  if (error.diagnostic.code != "kernel") return error;
  auto& notes = error.diagnostic.notes;
  notes.insert(notes.end(), completed.notes.begin(), completed.notes.end());
  if (error.diagnostic.help.empty()) error.diagnostic.help = completed.help;
  return error;
}

void add_warnings(const ir::Model& model, const RunOptions& options, RunReport& report) {
  std::vector<NamedValue> inputs;
  for (const RunInput& input : report.inputs) inputs.push_back({input.name, input.value});
  if (auto note = checker::two_readings_note(model, options.context.table(), inputs, "this run"); !note.empty())
    report.warnings.push_back(std::move(note));
}

}  // namespace

Result<CompletedInputs> complete_inputs(const Model& model, std::vector<NamedValue> given, const RunOptions& options) {
  const auto start = Clock::now();
  const ir::Model& ir = model.ir();
  if (!ir.graph) return make_error("no-graph", "the model has no graph to run");
  if (auto error = ir::unknown_dimension(ir, options.dims)) return *std::move(error);
  auto values = exec::arrange(exec::describe_inputs(*ir.graph), given);
  if (!values) return values.error();
  const auto sizes = inputs::bound_sizes(*ir.graph, *values, options.dims);
  if (!sizes) return sizes.error();
  inputs::GeneratedInputs made;
  made.inputs.resize(values->size());
  if (options.make_up_inputs) {
    const Limits limits = options.context.limits(options.limits);
    auto generated = inputs::generate_inputs(ir, options.context.table(), *values,
                                             {.dims = *sizes,
                                              .seed = options.seed,
                                              .memory_limit = limits.memory_bytes,
                                              .stop = options.stop,
                                              .time_limit = std::chrono::milliseconds(limits.time_ms),
                                              .start = start});
    if (!generated) return generated.error();
    made = *std::move(generated);
  }
  CompletedInputs completed;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const bool was_given = (*values)[i].kind != ValueKind::none;
    const bool was_made = made.inputs[i].value.kind != ValueKind::none;
    completed.inputs.push_back({std::string(ir.graph->name_of(ir.graph->inputs[i].value)),
                                was_made ? std::move(made.inputs[i].value) : std::move((*values)[i]),
                                was_given  ? "given"
                                : was_made ? made.inputs[i].description
                                           : "initializer"});
  }
  tell_sizes(completed, made);
  return completed;
}

Result<void> check_inputs(const Model& model, const std::vector<RunInput>& inputs) {
  if (!model.ir().graph) return make_error("no-graph", "the model has no graph to run");
  std::vector<Value> values;
  for (const RunInput& input : inputs) values.push_back(input.value);
  return exec::check_inputs(*model.ir().graph, values);
}

Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options) {
  const ir::Model& ir = model.ir();
  if (!ir.graph) return make_error("no-graph", "the model has no graph to run");
  if (auto error = unknown_tap(*ir.graph, options.taps)) return *std::move(error);

  RunReport report;
  const auto start = Clock::now();
  auto all = running::complete_inputs(model, std::move(inputs), options);
  if (!all) return all.error();
  report.inputs = std::move(all->inputs);
  const exec::BackendSettings settings = exec::settings_of(options.context.workers(), options.stop);
  const auto entry = all_backends().find(options.backend, settings);
  if (!entry) return entry.error();
  const auto done = run_on(*entry->make(settings), model, options, start, report);
  if (done && entry->name == "reference") add_warnings(ir, options, report);
  return done ? Result<RunReport>(std::move(report)) : with_chosen_sizes(done.error(), *all);
}

Result<PlanSummary> summarize_plan(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options) {
  const auto start = Clock::now();
  auto all = running::complete_inputs(model, std::move(inputs), options);
  if (!all) return all.error();
  const exec::BackendSettings settings = exec::settings_of(options.context.workers(), options.stop);
  const auto entry = all_backends().find(options.backend, settings);
  if (!entry) return entry.error();
  const auto backend = entry->make(settings);
  const auto desc = backend->describe();
  if (!desc) return desc.error();
  if (desc->capabilities.passes.empty())
    return make_error("not-supported", "the backend " + quote(options.backend) + " makes no plan");
  const std::shared_ptr<const ir::Model> ir(std::shared_ptr<const void>(), &model.ir());
  const auto session = backend->load({.model = ir, .path = options.unchanged_file}, load_options(options, all->inputs));
  if (!session) return session.error();
  auto report = (*session)->plan_report();
  const bool is_incomplete =
      !report || std::any_of(report->parts.begin(), report->parts.end(), [](const PlanPart& part) {
        return !part.open.empty() ||
               std::any_of(part.steps.begin(), part.steps.end(), [](const PlanStep& step) { return step.runs_bodies; });
      });
  // Without a plan for these inputs, or with more of them to come when it runs.
  if (is_incomplete || report->parts.empty()) {
    exec::RunRequest request = run_request(*ir, options);
    request.limits = run_limits(desc->capabilities, options.context, options.limits, start);
    for (const RunInput& input : all->inputs) request.inputs.push_back({input.name, input.value});
    if (auto answer = (*session)->run(request); !answer) return with_chosen_sizes(answer.error(), *all);
    report = (*session)->plan_report();
  }
  PlanSummary summary{.backend = options.backend, .inputs = std::move(all->inputs), .parts = {}};
  if (report) summary.parts = std::move(report->parts);
  return summary;
}

}  // namespace onnxkit::running
