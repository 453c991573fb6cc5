#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/compare/judge.h"
#include "onnxkit/diff.h"
#include "reference/executor/reference_model.h"

namespace onnxkit::diffing {

/// The noise floor of a model's outputs, from exact and noisy runs of the reference; made for a set of inputs and a profile when it is first asked for.
class Floor {
 public:
  /// Errors: what the reference cannot run.
  static Result<Floor> make(const ir::Model& model, const DiffOptions& options);

  /// Outputs by name. Valid until the next set is asked for.
  Result<const std::map<std::string, exec::Spread>*> spreads(const InputSet& set, std::size_t index, Profile profile);
  /// The same with two more replicas, for what is in doubt; the errors of these are `amplitude` times as large.
  Result<const std::map<std::string, exec::Spread>*> more_spreads(const InputSet& set, std::size_t index,
                                                                  Profile profile, double amplitude);
  /// Every value that a node of the main graph writes, in the order of execution, to `take`; without replicas, what it is exactly.
  Result<void> each_value(
      const InputSet& set, Profile profile, int replicas,
      const std::function<Result<void>(std::size_t node, std::string_view, const exec::Spread&)>& take);
  /// Whether the profile differs from finer ones in this model: Winograd's does where there is a convolution.
  bool applies(Profile profile) const { return profile != Profile::winograd || has_convolution_; }
  const ir::Graph& graph() const { return *model_->model().graph; }
  double seconds() const { return seconds_; }

 private:
  Result<std::vector<exec::Spread>> run(const InputSet& set, exec::EnsembleOptions ensemble);

  Floor(const DiffOptions& options, std::unique_ptr<reference::ReferenceModel> model,
        std::unique_ptr<exec::Ensemble> ensemble)
      : options_(&options), model_(std::move(model)), ensemble_(std::move(ensemble)) {}

  const DiffOptions* options_;
  std::unique_ptr<reference::ReferenceModel> model_;
  std::unique_ptr<exec::Ensemble> ensemble_;
  bool has_convolution_ = false;
  std::size_t set_ = 0;
  std::map<std::pair<Profile, double>, std::map<std::string, exec::Spread>> known_;  // by amplitude of more; 0: none
  double seconds_ = 0;
};

}  // namespace onnxkit::diffing
