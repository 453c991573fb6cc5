#include "libonnxkit/diff/floor.h"

#include <algorithm>
#include <chrono>

#include "libonnxkit/diff/ports.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::diffing {
namespace {

bool has_convolution(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const ir::Node& node) {
    bool found = node.op_type == "Conv" || node.op_type == "FusedConv";
    ir::for_each_subgraph(node, [&](const ir::Graph& inner, std::size_t) { found = found || has_convolution(inner); });
    return found;
  });
}

}  // namespace

Result<Floor> Floor::make(const ir::Model& model, const DiffOptions& options) {
  auto reference = reference::ReferenceModel::make(model, options.schemas, options.allow_outside_data);
  if (!reference) return reference.error();
  auto ensemble = (*reference)->ensemble();
  if (!ensemble) return ensemble.error();
  Floor floor(options, *std::move(reference), *std::move(ensemble));
  floor.has_convolution_ =
      has_convolution(*model.graph) || std::any_of(model.functions.begin(), model.functions.end(),
                                                   [](const auto& function) { return has_convolution(function.body); });
  return floor;
}

Result<const std::map<std::string, exec::Spread>*> Floor::spreads(const InputSet& set, std::size_t index,
                                                                  Profile profile) {
  if (index != set_) known_.clear();
  set_ = index;
  if (const auto found = known_.find({profile, 0}); found != known_.end()) return &found->second;
  exec::EnsembleOptions ensemble;
  ensemble.profile = profile;
  ensemble.replicas = options_->replicas;
  auto outputs = run(set, std::move(ensemble));
  if (!outputs) return outputs.error();
  auto& named = known_[{profile, 0}];
  for (std::size_t i = 0; i < outputs->size(); ++i)
    named.emplace(graph().name_of(graph().outputs[i].value), std::move((*outputs)[i]));
  return &named;
}

Result<const std::map<std::string, exec::Spread>*> Floor::more_spreads(const InputSet& set, std::size_t index,
                                                                       Profile profile, double amplitude) {
  constexpr int more = 2;  // with the exact run and the first four replicas: seven
  const auto first = spreads(set, index, profile);
  if (!first) return first.error();
  if (const auto found = known_.find({profile, amplitude}); found != known_.end()) return &found->second;
  exec::EnsembleOptions ensemble;
  ensemble.profile = profile;
  ensemble.replicas = more;
  ensemble.first_replica = options_->replicas;
  ensemble.amplitude = amplitude;
  auto outputs = run(set, std::move(ensemble));
  if (!outputs) return outputs.error();
  auto& named = known_[{profile, amplitude}];
  named = **first;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    exec::Spread& spread = named.at(std::string(graph().name_of(graph().outputs[i].value)));
    auto& added = (*outputs)[i].replicas;
    spread.replicas.insert(spread.replicas.end(), added.begin(), added.end());
    if (amplitude != 1) spread.amplified = added.size();
  }
  return &named;
}

Result<void> Floor::each_value(
    const InputSet& set, Profile profile, int replicas,
    const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take) {
  exec::EnsembleOptions ensemble;
  ensemble.profile = profile;
  ensemble.replicas = replicas;
  ensemble.on_spread = take;
  auto outputs = run(set, std::move(ensemble));
  return outputs ? Result<void>() : outputs.error();
}

Result<std::vector<exec::Spread>> Floor::run(const InputSet& set, exec::EnsembleOptions ensemble) {
  const auto start = std::chrono::steady_clock::now();
  auto inputs = inputs_for(graph(), set, options_->names);
  if (!inputs) return inputs.error();
  ensemble.noise_seed = options_->seed;
  ensemble.run.threads = options_->threads;
  ensemble.run.stop = options_->stop;
  auto outputs = ensemble_->run(values_of(std::move(inputs->values)), ensemble);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outputs;
}

}  // namespace onnxkit::diffing
