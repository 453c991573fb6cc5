#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/exec/guarded.h"
#include "libonnxkit/plan/places.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {
namespace {

using ProfileClock = std::chrono::steady_clock;

/// Of the elements of a view; what is repeated by a stride of 0 is read once.
std::uint64_t read_bytes(const View& view) {
  if (view.type == ElementType::undefined) return 0;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) count *= view.strides[axis] == 0 ? 1 : view.dims[axis];
  return static_cast<std::uint64_t>(count * storage_bits(view.type) / 8);
}

/// Of a table no more rows than there are positions.
std::uint64_t table_bytes(const Step& step) {
  const View &data = step.inputs[0], &positions = step.inputs[1];
  const bool shares_list = step.kind == gather_step && positions.rank() == 1;
  const std::int64_t looked_up = positions.size() * data.dims.back() * (shares_list ? data.dims[0] : 1);
  return std::min(read_bytes(data), static_cast<std::uint64_t>(looked_up * storage_bits(data.type) / 8));
}

/// Of all operands whose sizes a plan knows, each once. Of the matrices of a grouped product there are as many as can be chosen.
std::uint64_t operand_bytes(const Step& step) {
  std::uint64_t bytes = 0;
  for (const auto* views : {&step.inputs, &step.outputs})
    for (const View& view : *views) bytes += read_bytes(view);
  if (step.kind == gather_step || step.kind == weighted_gather_step)
    return bytes - read_bytes(step.inputs[0]) + table_bytes(step);
  if (step.kind != grouped_product_step) return bytes;
  const View& matrices = step.inputs[1];
  const std::int64_t groups = groups_of(step);
  const std::int64_t idle = std::max<std::int64_t>(groups - step.inputs[2].size(), 0);
  return bytes - read_bytes(matrices) / static_cast<std::uint64_t>(groups) * static_cast<std::uint64_t>(idle);
}

/// Multiplications with additions, at least one of a step that multiplies.
double products_of(const Step& step) {
  if (!step.kind.multiplies) return 0;
  const auto size_of = [](const View& view) { return static_cast<double>(view.size()); };
  const View &first = step.inputs[0], &second = step.inputs[1], &output = step.outputs[0];
  double products = size_of(output);
  if (step.kind == product_step || step.kind == grouped_product_step) {
    products *= first.dims.empty() ? 1.0 : static_cast<double>(first.dims.back());
  } else if (step.kind == convolution_step || step.kind == integer_convolution_step) {
    products *= size_of(second) / static_cast<double>(std::max<std::int64_t>(second.dims[0], 1));
  } else if (step.kind == attention_step) {
    products = static_cast<double>(second.dims[2]) * (size_of(first) + size_of(output));
  } else if (step.kind == linear_attention_step) {
    const auto& parameters = static_cast<const LinearAttentionParameters&>(*step.parameters);
    products += size_of(step.inputs[2]) * (parameters.has_rate ? 2 : 1);
    products *= static_cast<double>(first.dims.back());
  } else if (step.kind == recurrent_step) {
    products = static_cast<double>(first.dims[0] * first.dims[1]) * size_of(second);
  }
  return std::max(products, 1.0);
}

/// What a profile says of a step, but for how much it does.
void describe(const Step& step, bool is_in_body, exec::StepTime& time) {
  time.name = fmt::format("{}", fmt::join(step.nodes, " + "));
  if (!step.converts.empty()) {
    time.name = fmt::format("{} {}", step.converts, time.name);
    time.op = "conversion";
    return;
  }
  time.op = step.kind == host_step
                ? fmt::format("{} {}", step.kind.name, static_cast<const HostParameters&>(*step.parameters).op)
                : std::string(step.kind.name);
  if (!is_in_body) time.covers = step.nodes;
}

/// Adds to nodes those of the model that passes put them in the place of.
void add_replaced(const Plan& plan, std::vector<std::string>& nodes) {
  const auto add = [&](const std::string& node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string node = nodes[i];
    if (const std::string* const origin = origin_of(plan, node)) add(*origin);
    each_change(plan, [&](const NodeChange& change) {
      if (change.into == node) add(change.node);
    });
  }
}

}  // namespace

void PlannedRun::add_time(const Step& step, ProfileClock::time_point begin, ProfileClock::time_point end) const {
  const bool is_in_body = depth > 0;
  std::string key;
  if (is_in_body) key = fmt::format("{}\n{} {}\n{}", body, step.kind.name, step.converts, fmt::join(step.nodes, "\n"));
  exec::StepTime& time = times->add({.begin = begin, .end = end, .depth = depth}, key);
  if (time.op.empty()) describe(step, is_in_body, time);
  time.bytes = time.bytes.value_or(0) + operand_bytes(step);
  if (step.converts.empty()) time.products += products_of(step);
}

void Planned::add_replaced_nodes(std::vector<exec::StepTime>& steps) const {
  for (const Entry& entry : entries_) {
    for (exec::StepTime& step : steps) add_replaced(entry.ready->plan(), step.covers);
    if (entry.rest) entry.rest->add_replaced_nodes(steps);
  }
}

Result<exec::RunProfile> PlannedSession::profile(const exec::RunRequest& request) {
  return exec::guarded([&] { return profile_plan(request); });
}

Result<exec::RunProfile> PlannedSession::profile_plan(const exec::RunRequest& request) {
  const auto given = given_values(request);
  if (!given) return given.error();
  exec::RunProfile profile;
  profile.device = options_.device;
  for (int at = -request.warmup; at < std::max(request.repeat, 1); ++at) {
    const auto begin = ProfileClock::now();
    exec::StepTimes times(begin);
    const auto outputs =
        planned_->run(*given, {.request = request, .deadline = request.limits.deadline(begin), .times = &times});
    const std::chrono::duration<double> wall = ProfileClock::now() - begin;
    if (!outputs) return placed(outputs.error(), *original_);
    if (at >= 0) exec::add_run(profile, times.take(), wall.count());
  }
  planned_->add_replaced_nodes(profile.steps);
  if (profile.steps.empty()) return make_error("not-supported", "the plan has no steps");
  return profile;
}

}  // namespace onnxkit::plan
