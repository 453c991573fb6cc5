#include "libonnxkit/edit/simplify.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

#include "checker/report.h"
#include "libonnxkit/backends/backends.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/edit/name_outputs.h"
#include "libonnxkit/ir/called_functions.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::edit {
namespace {

using ir::ValueId;

constexpr std::int64_t oldest_opset = 7;     // broadcasting, and Reshape and Cast as passes write them
constexpr std::int64_t constants_apart = 4;  // the IR version from which on an initializer need not be an input, too
constexpr int most_rounds = 20;

/// The passes that may run, in their order.
std::vector<plan::Pass> known_passes() {
  std::vector<plan::Pass> all = plan::pass_registry().ordered();
  std::erase_if(all, [](const plan::Pass& pass) { return pass.simplifies == plan::Simplifies::no; });
  return all;
}

/// Those that run. Error unknown-option.
Result<std::vector<plan::Pass>> wanted_passes(const SimplifyOptions& options) {
  std::vector<plan::Pass> all = known_passes();
  std::vector<std::string_view> names;
  for (const plan::Pass& pass : all) names.push_back(pass.name);
  std::sort(names.begin(), names.end());
  for (const auto* given : {&options.without, &options.with})
    for (const std::string& name : *given)
      if (std::find(names.begin(), names.end(), name) == names.end())
        return unknown_name("unknown-option", "simplification named", name, names);
  std::erase_if(all, [&](const plan::Pass& pass) {
    const bool is_usual = pass.simplifies == plan::Simplifies::yes;
    return options.without.contains(std::string(pass.name)) ||
           (!is_usual && !options.with.contains(std::string(pass.name)));
  });
  return all;
}

/// What no pass can be trusted with.
std::optional<Error> obstacle(const ir::Model& model, const SimplifyOptions& options) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  if (!model.training_infos.empty())
    return make_error("not-supported", "the model has training information, which names parts of its graph");
  if (plan::names_values(*model.graph))
    return make_error("not-supported", "the model has a Gradient, which names values of its graph");
  const auto checked =
      checker::check(model, {.context = options.context, .allow_outside_data = options.allow_outside_data});
  if (!checked) return checked.error();
  const auto fault = std::ranges::find(checked->diagnostics, Severity::error, &Diagnostic::severity);
  if (fault != checked->diagnostics.end()) {
    Error error = make_error("malformed-model", fmt::format("the model is not valid: {}", fault->message));
    error.diagnostic.location = fault->location;
    return error;
  }
  const std::int64_t opset = ir::opset_of(model.opset_imports, "").value_or(oldest_opset);
  if (opset >= oldest_opset) return std::nullopt;
  Error error =
      make_error("opset-range",
                 fmt::format("models of opset {} are not simplified, only those of {} and newer", opset, oldest_opset));
  error.diagnostic.help = "onnxkit upgrade brings it to a newer opset";
  return error;
}

/// A session of the reference for each set of constants.
plan::Subject::Evaluate evaluator(const SimplifyOptions& options, std::shared_ptr<exec::Backend> reference) {
  return [&options, reference = std::move(reference)](const ir::Model& model) -> Result<std::vector<NamedValue>> {
    const Limits limits = options.context.limits(options.limits);
    exec::LoadOptions load;
    load.table = options.context.shared_table();
    load.context = exec::sessions_of(options.context);
    load.threads = limits.threads;
    load.allow_outside_data = options.allow_outside_data;
    const std::shared_ptr<const ir::Model> view(std::shared_ptr<const void>(), &model);
    auto session = reference->load({.model = view}, load);
    if (!session) return session.error();
    exec::RunRequest request;
    request.limits = {.memory = limits.memory_bytes,
                      .time = std::chrono::milliseconds(limits.time_ms),
                      .iterations = limits.iterations};
    auto answer = (*session)->run(request);
    if (!answer) return answer.error();
    return std::move(answer->outputs);
  };
}

std::map<std::string, std::size_t> operators_of(const ir::Graph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const ir::Node& node : graph.nodes) ++counts[ir::qualified_op(node)];
  return counts;
}

std::uint64_t weight_bytes(const ir::Graph& graph) {
  std::uint64_t bytes = 0;
  for (const ir::Tensor& tensor : graph.initializers) bytes += ir::expected_bytes(tensor).value_or(0);
  return bytes;
}

/// Initializers that a caller may replace, which passes would take for constants.
class ReplaceableDefaults {
 public:
  /// Takes them out of the graph; below IR version 4, where each initializer is an input, the inputs instead.
  ReplaceableDefaults(ir::Model& model, bool fixes_all) : graph_(*model.graph) {
    std::unordered_set<std::string_view> inputs, stored;
    for (const ir::ValueInfo& input : graph_.inputs) inputs.insert(graph_.name_of(input.value));
    for (const ir::Tensor& tensor : graph_.initializers) stored.insert(tensor.name.view());
    const bool is_older = model.ir_version.value_or(constants_apart) < constants_apart;
    if (is_older || fixes_all)
      std::erase_if(graph_.inputs, [&](const auto& input) { return stored.contains(graph_.name_of(input.value)); });
    if (is_older) model.ir_version = constants_apart;
    if (is_older || fixes_all) return;
    const auto is_constant = [&](const ir::Tensor& tensor) { return !inputs.contains(tensor.name.view()); };
    const auto first = std::stable_partition(graph_.initializers.begin(), graph_.initializers.end(), is_constant);
    kept_.assign(std::make_move_iterator(first), std::make_move_iterator(graph_.initializers.end()));
    graph_.initializers.erase(first, graph_.initializers.end());
  }
  std::size_t size() const { return kept_.size(); }
  void put_back() {
    for (ir::Tensor& tensor : kept_) graph_.initializers.push_back(std::move(tensor));
  }

 private:
  ir::Graph& graph_;
  std::vector<ir::Tensor> kept_;
};

/// Scales and zero points that only quantization annotations name, which passes drop and join.
class AnnotatedParameters {
 public:
  explicit AnnotatedParameters(const ir::Graph& graph) {
    const ir::InitializerTable stored(graph);
    for (const ir::TensorAnnotation& annotation : graph.quantization_annotations)
      for (const auto& parameter : annotation.quant_parameter_tensor_names)
        if (const ir::Tensor* const tensor = stored.find(graph.find(parameter.value))) named_.push_back(clone(*tensor));
  }
  /// Those that annotations of values which remain still need.
  void put_back(ir::Graph& graph) {
    std::unordered_set<std::string_view> needed;
    for (const ir::TensorAnnotation& annotation : graph.quantization_annotations)
      for (const auto& parameter : annotation.quant_parameter_tensor_names) needed.insert(parameter.value.view());
    for (const ir::Tensor& tensor : graph.initializers) needed.erase(tensor.name.view());
    for (ir::Tensor& tensor : named_)
      if (needed.erase(tensor.name.view()) > 0) graph.initializers.push_back(std::move(tensor));
    graph.intern_initializers();
  }

 private:
  std::vector<ir::Tensor> named_;
};

/// What the graph says of values that are gone.
void forget_removed_values(ir::Graph& graph) {
  const ir::Uses uses(graph);
  const auto is_gone = [&](ValueId id) {
    return id == ValueId::none || (uses.producer(id) < 0 && !uses.initializers().contains(id));
  };
  std::erase_if(graph.value_infos, [&](const ir::ValueInfo& info) { return is_gone(info.value); });
  std::erase_if(graph.quantization_annotations, [&](const ir::TensorAnnotation& annotation) {
    const ValueId id = graph.find(annotation.tensor_name);
    const bool is_input = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                      [id](const ir::ValueInfo& input) { return input.value == id; });
    return is_gone(id) && !is_input;
  });
}

void drop_uncalled_functions(ir::Model& model) {
  const std::vector<bool> called = ir::called_functions(model, *model.graph);
  std::size_t at = 0;
  std::erase_if(model.functions, [&](const ir::Function&) { return !called[at++]; });
}

/// Lets the model own what passes added.
void own_constants(const plan::Subject& subject, ir::Model& model) {
  ir::each_tensor(model, [&](ir::Tensor& tensor, ir::TensorRole) {
    const std::string_view raw = tensor.raw_data.view();
    if (!raw.empty() && subject.has_added(reinterpret_cast<const std::byte*>(raw.data())))
      tensor.raw_data = model.keep(raw);
  });
}

/// Until none changes anything: what one leaves another may take. The names of those that did something.
Result<std::vector<std::string>> apply(const std::vector<plan::Pass>& passes, plan::Subject& subject) {
  std::vector<std::string> applied;
  bool has_changed = true;
  for (int round = 0; has_changed && round < most_rounds; ++round) {
    has_changed = false;
    for (const plan::Pass& pass : passes) {
      const auto changed = pass.run(subject);
      if (!changed) return changed.error();
      if (!*changed) continue;
      has_changed = true;
      if (std::find(applied.begin(), applied.end(), pass.name) == applied.end()) applied.emplace_back(pass.name);
    }
  }
  return applied;
}

}  // namespace

Result<Simplified> simplify(const ir::Model& model, const SimplifyOptions& options) {
  const auto passes = wanted_passes(options);
  if (!passes) return passes.error();
  if (auto error = obstacle(model, options)) return *std::move(error);
  const auto reference = all_backends().find("reference", {});
  if (!reference) return reference.error();

  SimplifyReport report;
  report.before = operators_of(*model.graph);
  report.weights_before = weight_bytes(*model.graph);
  report.old_ir_version = model.ir_version;

  ir::Model copy = ir::clone(model);
  AnnotatedParameters parameters(*copy.graph);
  ReplaceableDefaults defaults(copy, options.fix_defaults);
  report.replaceable = defaults.size();
  plan::Subject subject(std::move(copy), options.context.shared_table(), evaluator(options, reference->make({})),
                        {.allow_outside_data = options.allow_outside_data,
                         .memory_limit = options.limits.memory_bytes,
                         .most_growth = options.most_growth});
  subject.splice(ir::Patch(subject.graph()));  // without what no output needs
  if (auto applied = apply(*passes, subject); applied)
    report.applied = *std::move(applied);
  else
    return applied.error();
  own_constants(subject, subject.model());
  ir::Model& made = subject.model();
  name_outputs(*made.graph);
  defaults.put_back();
  forget_removed_values(*made.graph);
  parameters.put_back(*made.graph);
  drop_uncalled_functions(made);
  report.after = operators_of(*made.graph);
  report.weights_after = weight_bytes(*made.graph);
  report.new_ir_version = made.ir_version;
  return Simplified{.model = std::move(made), .report = std::move(report)};
}

std::vector<Simplification> simplifications() {
  std::vector<Simplification> all;
  for (const plan::Pass& pass : known_passes())
    all.push_back({.name = std::string(pass.name), .is_default = pass.simplifies == plan::Simplifies::yes});
  return all;
}

}  // namespace onnxkit::edit
