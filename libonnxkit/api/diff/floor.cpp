#include "libonnxkit/api/diff/floor.h"

#include <algorithm>
#include <chrono>

#include "libonnxkit/api/diff/ports.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::api {
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
  auto reference = ReferenceModel::make(model, options.schemas, options.allow_outside_data);
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
  auto outputs = ensemble_->run(values_of(std::move(inputs->values)), ensemble);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outputs;
}

}  // namespace onnxkit::api
