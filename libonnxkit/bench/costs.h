#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::benching {

/// What a step of a backend has to do, by the model: its nodes, and their work for inputs of given shapes.
struct StepCost {
  std::vector<std::string> nodes;    ///< of the main graph, by name, else by their first output
  std::optional<double> operations;  ///< 2 for each multiplication with its addition; nothing where sizes are unknown
  std::optional<double>
      bytes;  ///< that it cannot but read and write: what other steps or the model hold; not of parts of nodes
};

/// For each step the nodes that it covers and what they cost. A step that the backend names after one node of several that it fused gets the others, too, as far
/// as they can be told: those that lie between it and other steps, one product or convolution at most. Steps that multiply for one node share its work.
std::vector<StepCost> step_costs(const ir::Model& model, const spec::OpTable& table,
                                 const std::vector<NamedValue>& inputs, std::span<const exec::StepTime> steps);

}  // namespace onnxkit::benching
