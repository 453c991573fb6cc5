#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "libonnxkit/ir/model.h"

namespace onnxkit::plan {

/// The body of an If, Loop or Scan as a model of its own. What it captures are further inputs behind its own, or constants where they are; so are
/// constants that a loop carries without changing them.
struct BodyModel {
  ir::Model model;
  /// By output of the body: the input of the model that it is. The model has the other outputs only.
  std::vector<std::optional<std::size_t>> passed_on;
};

/// `model` has one node, whose body `body` is. `passes_on`: whether outputs may be inputs as they are.
BodyModel body_model(const ir::Model& model, const ir::Graph& body, bool passes_on);

}  // namespace onnxkit::plan
