#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/compare/verdict.h"
#include "libonnxkit/diff/sessions.h"
#include "libonnxkit/exec/perturbed.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// The noise floor of a model's outputs, from exact and perturbed runs in lockstep; made for a set of inputs and a profile when it is first asked for.
class NoiseFloor {
 public:
  /// Errors: what the backend with perturbed samples cannot run. The sessions must outlive it.
  static Result<NoiseFloor> make(const std::shared_ptr<const Model>& model, Sessions& sessions);

  /// Outputs by name. Valid until the next set is asked for.
  Result<const std::map<std::string, exec::Spread>*> spreads(const InputSet& set, std::size_t index, Profile profile);
  /// The same with two more samples, for what is in doubt; the errors of these are `amplitude` times as large.
  Result<const std::map<std::string, exec::Spread>*> more_spreads(const InputSet& set, std::size_t index,
                                                                  Profile profile, double amplitude);
  /// Those of `spreads` and so many, an even number, that flip what is near an edge between two steps of a quantizer.
  Result<const std::map<std::string, exec::Spread>*> edge_spreads(const InputSet& set, std::size_t index,
                                                                  Profile profile, int edges);
  /// The values of nodes of the main graph that are wanted, by name, in the order of execution, to `take`; without samples, what they are exactly. With
  /// the set's index, what `spreads` gives for it is known from then on, if these are as many samples.
  Result<void> each_value(
      const InputSet& set, Profile profile, int samples, const std::function<bool(std::string_view)>& wants,
      const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take,
      std::optional<std::size_t> index = std::nullopt);
  /// The set's values by the names of the model's inputs.
  Result<std::vector<NamedValue>> inputs(const InputSet& set) const;
  /// Whether the profile differs from finer ones in this model: Winograd's does where there is a convolution.
  bool applies(Profile profile) const { return profile != Profile::winograd || has_convolution_; }
  bool has_quantizers() const { return has_quantizers_; }
  const ir::Model& model() const { return *model_; }
  const ir::Graph& graph() const { return *model_->graph; }
  double seconds() const { return seconds_; }

 private:
  Result<const std::map<std::string, exec::Spread>*> run_as(double key, const InputSet& set, std::size_t index,
                                                            const exec::PerturbedOptions& perturbed);
  void begin(std::size_t set);
  void keep(Profile profile, double key, std::vector<exec::Spread> outputs);
  Result<std::vector<exec::Spread>> run(const InputSet& set, exec::PerturbedOptions perturbed);

  NoiseFloor(const DiffOptions& options, std::shared_ptr<const ir::Model> model, std::unique_ptr<exec::Session> session)
      : options_(&options), model_(std::move(model)), session_(std::move(session)) {}

  const DiffOptions* options_;
  std::shared_ptr<const ir::Model> model_;
  std::unique_ptr<exec::Session> session_;
  bool has_convolution_ = false, has_quantizers_ = false;
  std::size_t set_ = 0;
  std::map<std::pair<Profile, double>, std::map<std::string, exec::Spread>>
      known_;  // by amplitude of more; 0: none, less: edges
  double seconds_ = 0;
};

}  // namespace onnxkit::diffing
