#include "libonnxkit/api/diff/floor.h"

#include <chrono>

#include "libonnxkit/api/diff/ports.h"

namespace onnxkit::api {

Result<Floor> Floor::make(const ir::Model& model, const DiffOptions& options) {
  auto reference = ReferenceModel::make(model, options.schemas, options.allow_outside_data);
  if (!reference) return reference.error();
  auto ensemble = (*reference)->ensemble();
  if (!ensemble) return ensemble.error();
  return Floor(options, *std::move(reference), *std::move(ensemble));
}

Result<const std::map<std::string, exec::Spread>*> Floor::spreads(const InputSet& set, std::size_t index,
                                                                  Profile profile) {
  if (index != set_) known_.clear();
  set_ = index;
  if (const auto found = known_.find(profile); found != known_.end()) return &found->second;
  auto outputs = run(set, profile, options_->replicas, nullptr);
  if (!outputs) return outputs.error();
  auto& named = known_[profile];
  for (std::size_t i = 0; i < outputs->size(); ++i)
    named.emplace(graph().name_of(graph().outputs[i].value), std::move((*outputs)[i]));
  return &named;
}

Result<void> Floor::each_value(
    const InputSet& set, Profile profile, int replicas,
    const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take) {
  auto outputs = run(set, profile, replicas, take);
  return outputs ? Result<void>() : outputs.error();
}

Result<std::vector<exec::Spread>> Floor::run(
    const InputSet& set, Profile profile, int replicas,
    const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take) {
  const auto start = std::chrono::steady_clock::now();
  auto inputs = inputs_for(graph(), set, options_->names);
  if (!inputs) return inputs.error();
  exec::EnsembleOptions ensemble;
  ensemble.profile = profile;
  ensemble.replicas = replicas;
  ensemble.noise_seed = options_->seed;
  ensemble.run.threads = options_->threads;
  ensemble.run.stop = options_->stop;
  ensemble.on_spread = take;
  auto outputs = ensemble_->run(*inputs, ensemble);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outputs;
}

}  // namespace onnxkit::api
