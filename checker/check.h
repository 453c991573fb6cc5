#pragma once

#include <memory>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "checker/targets/profile.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {

struct ModelCheckOptions {
  InferenceOptions inference;
  std::vector<std::shared_ptr<const TargetProfile>> targets;
  bool inspect_weights = false;  ///< reads all weights
  /// What runtimes add to a domain of the standard is no fault (RuleContext::accepts_additions).
  bool accepts_additions = false;
};

/// Runs every rule and inference over `model` and holds it against the targets; findings go to `collector`. Returns what inference knows.
InferredModel check_model(const ir::Model& model, const spec::OpTable& table, const ModelCheckOptions& options,
                          Collector& collector);

}  // namespace onnxkit::checker
