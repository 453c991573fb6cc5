#include "libonnxkit/diff/noise_floor.h"

#include <chrono>

#include "libonnxkit/diff/matching.h"
#include "libonnxkit/ir/scope.h"
#include "reference/executor/kernel.h"

namespace onnxkit::diffing {
namespace {

template <class Is>
bool has_node(const ir::Model& model, const Is& is) {
  const spec::OpTable table;
  for (const auto& scope : ir::graph_scopes(model)) {
    if (scope->is_training) continue;
    for (const ir::Node& node : scope->graph->nodes) {
      if (is(reference::traits_of(node, scope->opsets, table))) return true;
    }
  }
  return false;
}

}  // namespace

Result<NoiseFloor> NoiseFloor::make(const std::shared_ptr<const Model>& model, Sessions& sessions) {
  const auto ir = ir_of(model);
  auto session = sessions.load_perturbed(ir);
  if (!session) return session.error();
  NoiseFloor noise_floor(sessions.options(), ir, *std::move(session));
  noise_floor.has_convolution_ =
      has_node(*ir, [](const auto& traits) { return traits.noise && traits.noise->is_convolution; });
  noise_floor.has_quantizers_ = has_node(*ir, [](const auto& traits) { return traits.is_quantizing; });
  return noise_floor;
}

Result<const std::map<std::string, exec::Spread>*> NoiseFloor::run_as(double key, const InputSet& set,
                                                                      std::size_t index,
                                                                      const exec::PerturbedOptions& perturbed) {
  begin(index);
  const Profile profile = perturbed.profile;
  if (const auto found = known_.find({profile, key}); found != known_.end()) return &found->second;
  auto outputs = run(set, perturbed);
  if (!outputs) return outputs.error();
  keep(profile, key, *std::move(outputs));
  return &known_.at({profile, key});
}

void NoiseFloor::begin(std::size_t set) {
  if (set != set_) known_.clear();
  set_ = set;
}

void NoiseFloor::keep(Profile profile, double key, std::vector<exec::Spread> outputs) {
  auto& named = known_[{profile, key}];
  for (std::size_t i = 0; i < outputs.size(); ++i)
    named.emplace(graph().name_of(graph().outputs[i].value), std::move(outputs[i]));
}

Result<const std::map<std::string, exec::Spread>*> NoiseFloor::spreads(const InputSet& set, std::size_t index,
                                                                       Profile profile) {
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = options_->perturbed_samples;
  return run_as(0, set, index, perturbed);
}

Result<const std::map<std::string, exec::Spread>*> NoiseFloor::edge_spreads(const InputSet& set, std::size_t index,
                                                                            Profile profile, int edges) {
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = options_->perturbed_samples;
  perturbed.edge_samples = edges;
  const auto first = spreads(set, index, profile);
  if (!first) return first.error();
  const double key = -edges;
  if (const auto found = known_.find({profile, key}); found != known_.end()) return &found->second;
  const auto with_edges = run_as(key, set, index, perturbed);
  if (!with_edges) return with_edges.error();
  for (auto& [name, spread] : known_[{profile, key}]) {
    // Those without edges have no flips of their own.
    const auto& plain = (*first)->at(name).samples;
    std::copy(plain.begin(), plain.end(), spread.samples.begin());
  }
  return with_edges;
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
    const InputSet& set, Profile profile, int samples, const std::function<bool(std::string_view)>& wants,
    const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take,
    std::optional<std::size_t> index) {
  exec::PerturbedOptions perturbed;
  perturbed.profile = profile;
  perturbed.samples = samples;
  perturbed.on_spread = take;
  perturbed.wants = wants;
  auto outputs = run(set, std::move(perturbed));
  if (!outputs) return outputs.error();
  if (!index || samples != options_->perturbed_samples) return {};
  begin(*index);
  if (!known_.contains({profile, 0})) keep(profile, 0, *std::move(outputs));
  return {};
}

Result<std::vector<NamedValue>> NoiseFloor::inputs(const InputSet& set) const {
  auto matched = inputs_for(session_->inputs(), set, options_->names);
  if (!matched) return matched.error();
  return std::move(matched->values);
}

Result<std::vector<exec::Spread>> NoiseFloor::run(const InputSet& set, exec::PerturbedOptions perturbed) {
  const auto start = std::chrono::steady_clock::now();
  auto given = inputs(set);
  if (!given) return given.error();
  perturbed.noise_seed = options_->seed;
  exec::RunRequest request;
  request.inputs = *std::move(given);
  request.limits.memory = options_->context.limits(options_->limits).memory_bytes;
  request.stop = options_->stop;
  auto outputs = session_->perturbed()->run(request, perturbed);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outputs;
}

}  // namespace onnxkit::diffing
