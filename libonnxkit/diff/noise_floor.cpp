#include "libonnxkit/diff/noise_floor.h"

#include <chrono>

#include "libonnxkit/diff/matching.h"
#include "libonnxkit/ir/scope.h"
#include "reference/executor/kernel.h"

namespace onnxkit::diffing {
namespace {

bool has_convolution(const ir::Model& model) {
  const spec::OpTable table;
  for (const auto& scope : ir::graph_scopes(model)) {
    if (scope->is_training) continue;
    for (const ir::Node& node : scope->graph->nodes) {
      const auto& rule = reference::traits_of(node, scope->opsets, table).noise;
      if (rule && rule->is_convolution) return true;
    }
  }
  return false;
}

}  // namespace

Result<NoiseFloor> NoiseFloor::make(const std::shared_ptr<const Model>& model, Sessions& sessions) {
  const auto backend = sessions.registry().make_perturbed();
  if (!backend) return make_error("not-supported", "no backend tells how far rounding may move results");
  const auto ir = ir_of(model);
  auto session = backend->load({.model = ir}, sessions.load_options());
  if (!session) return session.error();
  NoiseFloor noise_floor(sessions.options(), ir, *std::move(session));
  noise_floor.has_convolution_ = has_convolution(*ir);
  return noise_floor;
}

Result<const std::map<std::string, exec::Spread>*> NoiseFloor::spreads(const InputSet& set, std::size_t index,
                                                                       Profile profile) {
  if (index != set_) known_.clear();
  set_ = index;
  if (const auto found = known_.find({profile, 0}); found != known_.end()) return &found->second;
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = options_->perturbed_samples;
  auto outputs = run(set, std::move(perturbed));
  if (!outputs) return outputs.error();
  auto& named = known_[{profile, 0}];
  for (std::size_t i = 0; i < outputs->size(); ++i)
    named.emplace(graph().name_of(graph().outputs[i].value), std::move((*outputs)[i]));
  return &named;
}

Result<const std::map<std::string, exec::Spread>*> NoiseFloor::more_spreads(const InputSet& set, std::size_t index,
                                                                            Profile profile, double amplitude) {
  constexpr int more = 2;  // with the exact run and the first four samples: seven
  const auto first = spreads(set, index, profile);
  if (!first) return first.error();
  if (const auto found = known_.find({profile, amplitude}); found != known_.end()) return &found->second;
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = more;
  perturbed.first_sample = options_->perturbed_samples;
  perturbed.amplitude = amplitude;
  auto outputs = run(set, std::move(perturbed));
  if (!outputs) return outputs.error();
  auto& named = known_[{profile, amplitude}];
  named = **first;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    exec::Spread& spread = named.at(std::string(graph().name_of(graph().outputs[i].value)));
    auto& added = (*outputs)[i].samples;
    spread.samples.insert(spread.samples.end(), added.begin(), added.end());
    if (amplitude != 1) spread.amplified = added.size();
  }
  return &named;
}

Result<void> NoiseFloor::each_value(
    const InputSet& set, Profile profile, int samples,
    const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take) {
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = samples;
  perturbed.on_spread = take;
  auto outputs = run(set, std::move(perturbed));
  return outputs ? Result<void>() : outputs.error();
}

Result<std::vector<exec::Spread>> NoiseFloor::run(const InputSet& set, exec::PerturbedOptions perturbed) {
  const auto start = std::chrono::steady_clock::now();
  auto inputs = inputs_for(session_->inputs(), set, options_->names);
  if (!inputs) return inputs.error();
  perturbed.noise_seed = options_->seed;
  exec::RunRequest request;
  request.inputs = std::move(inputs->values);
  request.stop = options_->stop;
  auto outputs = session_->perturbed()->run(request, perturbed);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outputs;
}

}  // namespace onnxkit::diffing
