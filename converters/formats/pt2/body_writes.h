#pragma once

#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// What the branches or the loop of a node write into from outside.
struct BodyWrites {
  std::vector<foreign::ValueId> operands;  ///< that are written into
  std::vector<foreign::Node> copies;       ///< which put the new contents there, behind the node
};

/// Turns writes of the graphs inside a node into values: what they write into becomes a further result of the node, in a loop also what a pass gives to
/// the next. Error code: not-supported.
Result<BodyWrites> expose_body_writes(foreign::Graph& graph, foreign::Node& node, StringPool& strings);

}  // namespace onnxkit::pt2
