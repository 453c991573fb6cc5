#include "libonnxkit/plan/planned.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/exec/guarded.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/plan/control_flow.h"
#include "libonnxkit/plan/places.h"
#include "libonnxkit/plan/steps.h"
#include "libonnxkit/plan/validity.h"

namespace onnxkit::plan {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A value of `first`, else of `second`, else none.
Value value_of(const ValuesByName& first, const ValuesByName& second, std::string_view name) {
  const Value* value = first.find(name);
  if (!value) value = second.find(name);
  return value ? *value : Value();
}

template <class T>
bool is_out_of_memory(const Result<T>& result) {
  return !result && result.error().diagnostic.code == "out-of-memory";
}

/// A float64 tensor, alone or inside, as one of the type that the model declares; its content is not looked at.
void declare(Value& value, const ir::DeclaredType& type) {
  if (type.kind == ir::DeclaredType::Kind::optional && type.element && value.kind != ValueKind::optional)
    return declare(value, *type.element);
  if (value.is_tensor()) {
    const auto declared = static_cast<ElementType>(type.elem_type.value_or(0));
    if (value.tensor.type() != ElementType::float64 || declared == ElementType::float64 || !is_floating(declared))
      return;
    const auto bytes =
        static_cast<std::size_t>(value.tensor.size()) * static_cast<std::size_t>(storage_bits(declared)) / 8;
    if (auto tensor = Tensor::from_bytes(declared, value.tensor.dims(), std::vector<std::byte>(bytes)))
      value.tensor = *std::move(tensor);
    return;
  }
  if (!type.element) return;
  const auto inner = static_cast<ElementType>(type.element->elem_type.value_or(0));
  const bool says_less = value.declared == ElementType::float64 || value.declared == ElementType::undefined;
  if (says_less && is_floating(inner)) value.declared = inner;  // an empty list has nothing else that tells
  for (Value& item : value.items) declare(item, *type.element);
}

std::vector<NamedValue> as_declared(const ir::Graph& graph, std::vector<NamedValue> given) {
  std::unordered_map<std::string_view, const ir::DeclaredType*> types;
  for (const ir::ValueInfo& input : graph.inputs)
    if (input.type) types.emplace(graph.name_of(input.value), &*input.type);
  for (NamedValue& value : given) {
    const auto known = types.find(value.name);
    if (known != types.end()) declare(value.value, *known->second);
  }
  return given;
}

/// Host steps whose bodies can be plans get what runs them.
void plan_bodies(Plan& plan, const PlannedOptions& options) {
  for (Step& step : plan.steps) {
    if (step.kind != host_step) continue;
    const auto& host = static_cast<const HostParameters&>(*step.parameters);
    const bool has_bodies = host.op == "If" || host.op == "Loop" || host.op == "Scan";
    if (!has_bodies) continue;  // "all nodes" of a model that is not valid among them
    std::string why_not;
    std::shared_ptr<ControlFlow> control = ControlFlow::make(host.model, options, why_not);
    if (!control && why_not.empty()) continue;
    auto changed = std::make_shared<HostParameters>(host);
    changed->control = std::move(control);
    changed->reason = why_not.empty() ? "its bodies are plans of their own" : why_not;
    step.parameters = std::move(changed);
  }
}

/// Its steps take less time than making it took: they read and write few numbers, and multiply few.
bool is_quickly_run(const Plan& plan) {
  constexpr std::int64_t few = std::int64_t{1} << 15;
  std::int64_t work = 0;
  for (const Step& step : plan.steps) {
    if (step.kind.multiplies && step.kind != product_step) return false;
    for (const auto* views : {&step.inputs, &step.outputs})
      for (const View& view : *views) work += std::min(view.size(), few);
    if (step.kind == product_step && work <= few)
      work += step.outputs[0].size() * std::min(step.inputs[0].dims.back(), few);
    if (work > few) return false;
  }
  return true;
}

/// The plans of the bodies behind the plan that they belong to, indented.
void report_bodies(const ControlFlow& control, const std::string& op, exec::PlanReport& report) {
  for (const auto& body : control.bodies()) {
    exec::PlanReport inner;
    body->planned().report(inner, body->title());
    if (inner.text.empty()) continue;
    report.text += fmt::format("{}:\n", body->title());
    for (std::size_t at = 0; at < inner.text.size();) {
      const std::size_t end = std::min(inner.text.find('\n', at), inner.text.size());
      report.text += fmt::format("  {}\n", std::string_view(inner.text).substr(at, end - at));
      at = end + 1;
    }
    if (const auto reason = body->out_of_plans())
      report.notes.push_back(fmt::format("{} ({}) runs on the reference: {}", body->title(), op, *reason));
    std::move(inner.notes.begin(), inner.notes.end(), std::back_inserter(report.notes));
    std::move(inner.parts.begin(), inner.parts.end(), std::back_inserter(report.parts));
  }
}

}  // namespace

exec::LoadOptions host_load(const exec::LoadOptions& load) {
  return {.context = load.context,
          .table = load.table,
          .math = load.math,
          .threads = load.threads,
          .allow_outside_data = load.allow_outside_data};
}

Result<void> PlannedRun::may_go_on() const {
  if (request.stop.stop_requested()) return exec::cancelled_run();
  if (deadline != Clock::time_point::max() && Clock::now() > deadline) return exec::late_run(request.limits.time);
  return {};
}

exec::RunLimits PlannedRun::remaining_limits() const {
  exec::RunLimits limits = request.limits;
  if (deadline != Clock::time_point::max())
    limits.spent = limits.time - std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return limits;
}

// ---- models and their plans

namespace {

/// What of a value a plan is made for.
enum class KeyDetail : std::uint8_t { type, sizes, content };

/// All that build() looks at: of the items of a sequence the type of the first.
void add_to_key(std::string& key, const Value& value, KeyDetail detail) {
  key += fmt::format("{} {} ", static_cast<int>(value.kind), static_cast<int>(value.declared));
  if (!value.items.empty())
    add_to_key(key, value.items.front(), value.kind == ValueKind::sequence ? KeyDetail::type : detail);
  if (!value.is_tensor()) return;
  key += fmt::format("{} {}", static_cast<int>(value.tensor.type()), value.tensor.dims().size());
  if (detail == KeyDetail::type) return;
  key += fmt::format(" {}", fmt::join(value.tensor.dims(), ","));
  constexpr std::int64_t most = 64;
  if (detail != KeyDetail::content || value.tensor.size() > most || is_floating(value.tensor.type())) return;
  const auto bytes = value.tensor.bytes();
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Value take_slot(const Plan& plan, std::size_t output, std::span<Value> slots) {
  const std::uint32_t buffer = plan.outputs[output].buffer;
  Value& value = slots[plan.buffers[buffer].index];
  const auto later = std::span(plan.outputs).subspan(output + 1);
  return std::ranges::find(later, buffer, &Port::buffer) == later.end() ? std::move(value) : value;
}

Planned::Planned(std::shared_ptr<const ir::Model> model, const PlannedOptions& options, std::size_t rests_before)
    : model_(std::move(model)),
      options_(options),
      kept_plans_(options.kept_plans ? options.kept_plans : std::make_shared<KeptPlans>()),
      rests_before_(rests_before) {
  kept_plans_->add(*this);
  if (is_rest() || options_.fault) generics_.give_up();
}

std::string Planned::key_of(const std::vector<NamedValue>& given) const {
  std::string key;
  for (const NamedValue& input : given) {
    key += fmt::format("{} {}:", input.name.size(), input.name);
    add_to_key(key, input.value, is_rest() ? KeyDetail::content : KeyDetail::sizes);
    key += ';';
  }
  return key;
}

Result<Planned::Entry*> Planned::entry_for(const std::vector<NamedValue>& given, const PlannedRun& run) {
  const std::string key = key_of(given);
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    entries_.front().use = kept_plans_->next_use();
    return &entries_.front();
  }
  if (entries_.size() == most_plans) give_up_oldest();
  auto made = make_entry(given, run);
  if (!made) return made.error();
  if (!made->ready->plan().generic) ++made_;
  if (is_quickly_run(made->ready->plan())) ++quick_made_;
  made->key = key;
  made->use = kept_plans_->next_use();
  entries_.push_front(*std::move(made));
  return &entries_.front();
}

std::uint64_t Planned::kept_bytes() const {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.ready->bytes();
  return bytes;
}

std::optional<std::uint64_t> Planned::oldest_use() const {
  if (entries_.empty() || entries_.back().runs) return std::nullopt;
  return entries_.back().use;
}

void Planned::give_up_oldest() {
  if (oldest_use()) entries_.pop_back();
}

BuildOptions Planned::build_options(const PlannedRun& run) const {
  const exec::LoadOptions& load = options_.load;
  BuildOptions build_options;
  build_options.table = load.table;
  build_options.takes = options_.takes;
  build_options.fault = options_.fault;
  if (rests_before_ == most_rests)
    build_options.fault = fmt::format("{} plans behind sizes that only the run tells come before", most_rests);
  if (!is_rest()) build_options.original = options_.original.get();
  build_options.passes = options_.passes;
  build_options.without_passes = options_.without_passes;
  build_options.allow_outside_data = load.allow_outside_data;
  build_options.external = options_.external;
  build_options.fixes_small_inputs = is_rest();
  build_options.exact = options_.exact;
  build_options.prefers_few_steps = options_.prefers_few_steps;
  build_options.splits_capped_attention = options_.splits_capped_attention;
  build_options.memory_limit = run.request.limits.memory;
  build_options.may_go_on = [&run] { return run.may_go_on(); };
  build_options.evaluate = [this, &load, &run](const ir::Model& model) -> Result<std::vector<NamedValue>> {
    const std::shared_ptr<const ir::Model> view(std::shared_ptr<const void>(), &model);
    auto session = options_.host->load({.model = view}, host_load(load));
    if (!session) return session.error();
    exec::RunRequest request;
    request.limits = run.remaining_limits();
    request.stop = run.request.stop;
    auto answer = (*session)->run(request);
    if (!answer) return answer.error();
    return std::move(answer->outputs);
  };
  return build_options;
}

Result<Planned::Entry> Planned::make_entry(const std::vector<NamedValue>& given, const PlannedRun& run) {
  BuildOptions build_options = this->build_options(run);
  const std::vector<NamedValue> inputs = options_.exact ? as_declared(*model_->graph, given) : given;
  constexpr std::size_t most_plans_refused = 16;
  HostNodes& refused = build_options.on_host;
  const auto generic = generics_.find(*model_, inputs, build_options);
  if (!generic) return generic.error();
  for (std::size_t tries = 0;;) {
    auto built = build(*model_, inputs, build_options, *generic);
    if (!built) return built.error();
    if (built->rest) generics_.give_up();
    if (auto fits = check_memory(*built, run.request.limits.memory); !fits) return fits.error();
    kept_plans_->give_up_beyond(run.request.limits.memory, memory_bytes(*built));
    Entry entry;
    if (!*generic) entry.alone = sizes_of(inputs);
    if (built->rest) entry.rest = std::make_unique<Planned>(built->rest, options_, rests_before_ + 1);
    plan_bodies(*built, options_);
    if (auto more = run.may_go_on(); !more) return more.error();
    const std::size_t known = refused.size();
    auto ready = options_.make(*std::move(built), refused, run);
    if (ready) {
      entry.ready = *std::move(ready);
      return entry;
    }
    if (is_out_of_memory(ready) && (kept_plans_->give_up_oldest() || (options_.takes_less && options_.takes_less())))
      continue;
    if (refused.size() == known || tries++ == most_plans_refused) return ready.error();
  }
}

Result<void> Planned::prepare(const std::vector<NamedValue>& given, const PlannedRun& run) {
  if (auto entry = entry_for(given, run); !entry) return entry.error();
  return {};
}

std::size_t Planned::quick_plans_made() const {
  std::size_t count = quick_made_;
  for (const Entry& entry : entries_) count += entry.rest ? entry.rest->quick_plans_made() : 0;
  return count;
}

std::size_t Planned::plans_made() const {
  std::size_t count = made_;
  for (const Entry& entry : entries_) count += entry.rest ? entry.rest->plans_made() : 0;
  return count;
}

void Planned::report(exec::PlanReport& report, const std::string& of) const {
  for (const Entry& entry : entries_) {
    const Plan& plan = entry.ready->plan();
    report.text += text_of(plan);
    report.parts.push_back(
        summary_of(plan, is_rest() ? fmt::format("the rest of {}, with sizes that the run computed", of) : of));
    if (!plan.order.empty()) report.notes.push_back(fmt::format("the steps of {} run on {}", of, plan.order));
    report.notes.insert(report.notes.end(), plan.notes.begin(), plan.notes.end());
    for (const Step& step : plan.steps) {
      if (step.kind != host_step) continue;
      const auto& parameters = static_cast<const HostParameters&>(*step.parameters);
      if (parameters.control && parameters.control->why_whole().empty()) {
        report_bodies(*parameters.control, parameters.op, report);
        continue;
      }
      const std::string& why = parameters.control ? parameters.control->why_whole() : parameters.reason;
      const std::string what =
          step.nodes.empty() ? parameters.op : fmt::format("node {} ({})", quote(step.nodes.front()), parameters.op);
      report.notes.push_back(fmt::format("{} {} on the reference: {}", what, step.nodes.empty() ? "run" : "runs", why));
    }
    if (entry.rest) entry.rest->report(report, of);
  }
}

Result<std::vector<NamedValue>> Planned::run_rest(Entry& entry, const ValuesByName& given,
                                                  const std::vector<NamedValue>& results, const PlannedRun& run) {
  const ir::Graph& graph = *entry.ready->plan().rest->graph;
  const ValuesByName computed(results);
  std::vector<NamedValue> passed;
  for (const ir::ValueInfo& input : graph.inputs) {
    const std::string name(graph.name_of(input.value));
    passed.push_back({name, value_of(computed, given, name)});
  }
  return entry.rest->run(passed, run);
}

Result<std::vector<Value>> Planned::run_ready(Entry& entry, std::span<const Value> inputs, const PlannedRun& run) {
  const std::uint64_t limit = run.request.limits.memory;
  kept_plans_->give_up_beyond(limit, entry.ready->shared_bytes());
  auto outputs = entry.ready->run(inputs, run);
  // A profile would have the steps twice.
  while (is_out_of_memory(outputs) && !run.times && kept_plans_->give_up_oldest())
    outputs = entry.ready->run(inputs, run);
  return outputs;
}

Result<std::vector<NamedValue>> Planned::run(const std::vector<NamedValue>& given, const PlannedRun& run) {
  const auto found = entry_for(given, run);
  if (!found) return found.error();
  Entry& entry = **found;
  const Plan& plan = entry.ready->plan();
  const ValuesByName by_name(given);
  std::vector<Value> inputs;
  for (const Port& port : plan.inputs) {
    const Value* const value = by_name.find(port.name);
    inputs.push_back(value ? *value : Value());
  }
  // Neither it nor those around it may be given up for what its rest and its bodies need.
  const std::unique_ptr<bool, void (*)(bool*)> running(&(entry.runs = true), [](bool* runs) { *runs = false; });
  auto outputs = run_ready(entry, inputs, run);
  if (!outputs) return outputs.error();
  std::vector<NamedValue> results;
  for (std::size_t i = 0; i < outputs->size(); ++i) results.push_back({plan.outputs[i].name, std::move((*outputs)[i])});
  if (entry.rest) {
    auto more = run_rest(entry, by_name, results, run);
    if (!more) return more.error();
    std::move(more->begin(), more->end(), std::back_inserter(results));
  }
  if (entry.alone) generics_.note_run(*std::exchange(entry.alone, std::nullopt));
  // Outputs in the order of the model, an output that is an input among them.
  const ValuesByName computed(results);
  std::vector<NamedValue> ordered;
  for (const ir::ValueInfo& output : model_->graph->outputs) {
    const std::string_view name = model_->graph->name_of(output.value);
    ordered.push_back({std::string(name), value_of(computed, by_name, name)});
  }
  return ordered;
}

// ---- sessions

PlannedSession::PlannedSession(std::shared_ptr<const ir::Model> model, PlannedOptions options)
    : original_(std::move(model)),
      options_(std::move(options)),
      inputs_(exec::describe_inputs(*original_->graph)),
      outputs_(exec::describe_outputs(*original_->graph)) {
  if (!options_.kept_plans) options_.kept_plans = std::make_shared<KeptPlans>();
  if (!options_.external) options_.external = external_data(*original_, options_.load.allow_outside_data);
}

Result<void> PlannedSession::prepare(std::string arithmetic) {
  return exec::guarded([&] { return prepare_plan(std::move(arithmetic)); });
}

Result<void> PlannedSession::prepare_plan(std::string arithmetic) {
  const auto start = Clock::now();
  const exec::RunRequest request{.limits = options_.load.limits, .stop = options_.load.stop};
  const PlannedRun loading{.request = request, .deadline = request.limits.deadline(start)};
  const auto sorted = ir::in_evaluation_order(original_);
  options_.original = sorted;
  options_.fault = fault_of(*sorted, *options_.load.table, options_.load.allow_outside_data);
  if (auto more = loading.may_go_on(); !more) return more.error();
  const auto model = std::make_shared<const ir::Model>(options_.fault ? ir::clone(*sorted) : newest(*sorted));
  planned_ = std::make_unique<Planned>(model, options_);
  if (auto known = known_inputs()) {
    if (auto made = planned_->prepare(*known, loading); !made) return made.error();
  }
  report_.arithmetic = std::move(arithmetic);
  report_.seconds = seconds_since(start);
  return {};
}

std::optional<exec::PlanReport> PlannedSession::plan_report() const {
  exec::PlanReport report;
  planned_->report(report);
  report.notes.insert(report.notes.end(), options_.notes.begin(), options_.notes.end());
  std::unordered_set<std::string> known;  // plans of several sizes say the same
  std::erase_if(report.notes, [&](const std::string& note) { return !known.insert(note).second; });
  return report;
}

Result<std::vector<NamedValue>> PlannedSession::given_values(const exec::RunRequest& request) const {
  const auto values = exec::arrange(inputs_, request.inputs);
  if (!values) return values.error();
  if (const auto fits = exec::check_inputs(*original_->graph, *values); !fits) return fits.error();
  std::vector<NamedValue> given;
  for (std::size_t i = 0; i < values->size(); ++i) {
    if ((*values)[i].kind != ValueKind::none) given.push_back({inputs_[i].name, (*values)[i]});
  }
  return given;
}

Result<exec::RunAnswer> PlannedSession::run(const exec::RunRequest& request) {
  return exec::guarded([&] { return run_plan(request); });
}

Result<exec::RunAnswer> PlannedSession::run_plan(const exec::RunRequest& request) {
  const auto given = given_values(request);
  if (!given) return given.error();
  exec::RunAnswer answer;
  for (int i = -request.warmup; i < std::max(request.repeat, 1); ++i) {
    const auto start = Clock::now();
    const double cpu = own_cpu_seconds();
    std::optional<double> on_device;
    const PlannedRun run{.request = request, .deadline = request.limits.deadline(start), .device_seconds = &on_device};
    auto outputs = planned_->run(*given, run);
    if (!outputs) return placed(outputs.error(), *original_);
    if (i >= 0) answer.samples.push_back({seconds_since(start), own_cpu_seconds() - cpu, on_device});
    answer.outputs = *std::move(outputs);
  }
  auto selected = exec::select_outputs(std::move(answer.outputs), request.outputs);
  if (!selected) return selected.error();
  answer.outputs = *std::move(selected);
  if (options_.peak_device_bytes) answer.device_bytes = options_.peak_device_bytes();
  return answer;
}

/// Inputs without content for the plan, when their sizes are all stated.
std::optional<std::vector<NamedValue>> PlannedSession::known_inputs() const {
  std::vector<NamedValue> known;
  for (const exec::ValueDesc& input : inputs_) {
    if (input.optional) continue;
    std::vector<std::int64_t> dims = input.dims;
    bool has_shape = input.has_shape;
    if (const auto given = options_.load.shapes.find(input.name); given != options_.load.shapes.end()) {
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

}  // namespace onnxkit::plan
