#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/subject.h"
#include "onnxkit/result.h"

namespace onnxkit::plan {

class PassRegistry;
struct GenericModel;

struct BuildOptions {
  std::shared_ptr<const spec::OpTable> table;
  Subject::Evaluate evaluate;
  Takes takes = {};                      ///< null: all that lowerings emit
  HostNodes on_host = {};                ///< in spite of their lowerings
  const PassRegistry* passes = nullptr;  ///< null: pass_registry()
  std::set<std::string, std::less<>> without_passes = {};
  bool allow_outside_data = false;
  /// Files of weights, which lie at one place for all plans that share it; null: opened for this plan.
  std::shared_ptr<wire::ExternalData> external = {};
  /// Only what changes no number: constants of floating-point type are not folded, since the model holds them in their declared types.
  bool exact = false;
  /// Starting a step takes as long as a small product, so fewer steps are worth copies of weights.
  bool prefers_few_steps = false;
  /// Attention with a softcap stays two products and a softmax: a library has no kernel for it, but fast ones for the products.
  bool splits_capped_attention = false;
  /// Small integer inputs are taken for constants: they are sizes, as what runs already told.
  bool fixes_small_inputs = false;
  /// Of the run that asks; tables and folded constants of the plan have to fit into it. 0: none.
  std::uint64_t memory_limit = 0;
  /// Null, or asked between nodes and passes, whose error ends it: cancelled, time-limit.
  std::function<Result<void>()> may_go_on = {};
  /// What is wrong with the model (validity.h): all of it runs in one host step then.
  std::optional<std::string> fault = {};
  /// The model before `newest`: what runs when inference finds a fault, since opset steps keep the meaning of valid models only. Null: the model itself.
  const ir::Model* original = nullptr;
};

/// What BuildOptions::may_go_on says.
inline Result<void> may_go_on(const BuildOptions& options) {
  return options.may_go_on ? options.may_go_on() : Result<void>();
}

/// The model with calls of its functions as they are, in the newest opset of ai.onnx that the opset steps can bring it to: lowerings and passes
/// are written for that one.
ir::Model newest(const ir::Model& model);

/// A plan for inputs of these types and sizes, one for each of the caller's; an input that is an initializer, too, and is not among them is a
/// constant. `generic`: null, or made of the model and of a pattern that the inputs fit, from which the plan is made sooner. Errors: those of external
/// data and of may_go_on.
Result<Plan> build(const ir::Model& model, std::span<const NamedValue> inputs, const BuildOptions& options,
                   const std::shared_ptr<const GenericModel>& generic = {});

/// The names that `without_passes` may have: passes over the model, then those over steps.
std::vector<std::string> pass_names();

}  // namespace onnxkit::plan
