#include "libonnxkit/diff/side.h"

#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/base/system/quiet.h"

namespace onnxkit::diffing {

std::vector<std::string> warnings_of_inputs(const SideRun& run) {
  std::vector<std::string> warnings;
  for (const std::string& input : run.moved_inputs)
    warnings.push_back("the channels of input " + quote(input) +
                       " were moved to this side's layout, inferred from the shapes; --axes sets it");
  for (const std::string& input : run.cast_inputs)
    warnings.push_back("input " + quote(input) + " was cast to the floating-point type that this side accepts");
  return warnings;
}

void tell_of_inputs(Diagnostic& failure, const InputSet& inputs) {
  // Other inputs do not bring a file back.
  if (failure.code == "cancelled" || failure.code == "cannot-read" || failure.code.starts_with("external-")) return;
  failure.notes.insert(failure.notes.end(), inputs.notes.begin(), inputs.notes.end());
  if (failure.help.empty()) failure.help = inputs.help;
}

Side::Side(const DiffSide& side, Sessions& sessions, SideReport& report)
    : side_(side), sessions_(sessions), report_(report) {
  report.backend = side.backend;
  report.label = side.label.empty() ? side.backend : side.label;
  report.model = side.path.empty() && side.model ? side.model->path().string() : side.path.string();
  report.options = side.options;
}

Result<void> Side::open(int runs) {
  report_.failed_at = "start";
  const auto entry = sessions_.registry().find(side_.backend, sessions_.settings());
  if (!entry) return entry.error();
  backend_ = entry->make(sessions_.settings());
  const auto desc = backend_->describe();
  if (!desc) return desc.error();
  capabilities_ = desc->capabilities;
  report_.version = desc->title;
  report_.device = fmt::format("{}", fmt::join(desc->devices, ", "));
  report_.arithmetic = side_.arithmetic.empty() ? desc->arithmetic : side_.arithmetic;
  report_.failed_at = "load";
  exec::LoadOptions options = sessions_.load_options();
  options.options = side_.options;
  options.kept_bytes = runs > 1 ? exec::usual_kept_bytes : 0;
  auto session = backend_->load(
      {.model = ir_of(side_.model), .path = side_.path, .format = side_.format, .recorded = side_.answers}, options);
  report_.log = backend_->log();
  if (!session) return session.error();
  session_ = *std::move(session);
  const exec::LoadReport& loaded = session_->loaded();
  report_.load_seconds = loaded.seconds;
  report_.warnings = loaded.warnings;
  if (!loaded.arithmetic.empty()) report_.arithmetic = loaded.arithmetic;
  return {};
}

void Side::close() {
  session_.reset();
  backend_.reset();
}

Result<SideRun> Side::run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) {
  const DiffOptions& options = sessions_.options();
  return run({.set = index, .repeat = options.repeat, .warmup = index == 0 ? options.warmup : 0}, set, wanted);
}

Result<SideRun> Side::run_once(const InputSet& set) { return run(exec::RunRequest(), set, {}); }

Result<SideRun> Side::measure(const InputSet& set, int runs) {
  return run({.repeat = runs, .warmup = runs > 1 ? 1 : 0}, set, {});
}

Result<SideRun> Side::run(exec::RunRequest request, const InputSet& set, const std::vector<NamedValue>& wanted) {
  const DiffOptions& options = sessions_.options();
  auto inputs = inputs_for(session_->inputs(), set, options.names);
  if (!inputs) return inputs.error();
  request.set_name = set.name;
  auto answer = run(std::move(request), std::move(inputs->values));
  report_.log = backend_->log();
  if (!answer) return answer.error();
  // What was recorded bears the names of the model that the inputs are for.
  auto matched = matched_outputs(std::move(answer->outputs), wanted, capabilities_.replays ? NameMap() : options.names);
  if (!matched) return matched.error();
  SideRun run;
  for (const exec::RunSample& sample : answer->samples) run.times.push_back({sample.wall, sample.cpu, sample.device});
  run.device_bytes = answer->device_bytes;
  run.moved_inputs = std::move(inputs->moved);
  run.cast_inputs = std::move(inputs->cast);
  run.outputs = std::move(matched->values);
  run.moved = std::move(matched->moved);
  run.absent = std::move(matched->absent);
  return run;
}

Result<exec::RunProfile> Side::profile(const InputSet& set, int runs) {
  auto inputs = inputs_for(session_->inputs(), set, sessions_.options().names);
  if (!inputs) return inputs.error();
  return session_->profile(limited({.repeat = runs, .warmup = 1}, std::move(inputs->values)));
}

exec::RunRequest Side::limited(exec::RunRequest request, std::vector<NamedValue> inputs) const {
  request.inputs = std::move(inputs);
  request.limits.time = std::chrono::milliseconds(sessions_.options().context.workers().limits.run_ms);
  if (!capabilities_.own_process) request.limits.memory = sessions_.limits().memory_bytes;
  request.stop = sessions_.options().stop;
  return request;
}

Result<exec::RunAnswer> Side::run(exec::RunRequest request, std::vector<NamedValue> inputs) {
  return session_->run(limited(std::move(request), std::move(inputs)));
}

Result<std::vector<NamedValue>> Side::inputs(const InputSet& set) const {
  auto inputs = inputs_for(session_->inputs(), set, sessions_.options().names);
  if (!inputs) return inputs.error();
  return std::move(inputs->values);
}

Result<std::vector<NamedValue>> Side::look(const InputSet& set, const std::vector<std::string>& names) {
  auto given = inputs(set);
  if (!given) return given.error();
  auto answer = run(exec::RunRequest{.outputs = names}, *std::move(given));
  if (!answer) return answer.error();
  return std::move(answer->outputs);
}

std::vector<std::string> Side::output_names() const {
  std::vector<std::string> names;
  for (const exec::ValueDesc& output : session_->outputs()) names.push_back(output.name);
  return names;
}

std::vector<std::string> Side::names() const {
  std::vector<std::string> names;
  if (!session_) return names;
  for (const auto* descs : {&session_->inputs(), &session_->outputs()}) {
    for (const exec::ValueDesc& desc : *descs) names.push_back(desc.name);
  }
  return names;
}

bool let_rest(const std::vector<const Side*>& sides) {
  return wait_until_quiet([&] {
    double seconds = own_cpu_seconds();
    for (const Side* side : sides)
      if (side->is_open()) seconds += side->process_cpu_seconds().value_or(0);
    return seconds;
  });
}

}  // namespace onnxkit::diffing
