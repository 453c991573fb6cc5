#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/inference.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::exec {

/// Integers that an input may hold so that every node that reads it can work, both ends included.
struct InputRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string reason;  ///< "indices into axis 0 of size 30522 at main / node 4 (Gather)"
};

/// What the nodes that an integer input of the main graph reaches ask of it: indices address a dimension, counts and lengths are positive and
/// within theirs. The input is followed through operators that only move it, into subgraphs and functions. nullopt when no node says anything.
std::optional<InputRange> range_of_input(const ir::Model& model, const checker::InferredModel& inferred,
                                         ir::ValueId input);

}  // namespace onnxkit::exec
