#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "converters/opset/engine/step.h"
#include "libonnxkit/ir/model.h"

// Bodies of nodes that become bodies of other nodes.
namespace onnxkit::opset {

using ir::ValueId;

/// The graph that an attribute holds, which it holds no longer; null when it holds none.
std::unique_ptr<ir::Graph> take_graph(ir::Node& node, std::string_view attribute);

/// Gives the attribute a graph in place of the one that it holds.
void put_graph(ir::Node& node, std::string_view attribute, std::unique_ptr<ir::Graph> graph);

/// Puts a body's nodes between the first ones of a frame and the others. Inputs and outputs are those of the frame; the body's own inputs are
/// declared only. `frame_values`: for values of the frame the body's own.
std::unique_ptr<ir::Graph> framed(std::unique_ptr<ir::Graph> body, ir::Graph& frame, std::size_t first_nodes,
                                  std::vector<ValueId> frame_values);

/// The nodes of a body in place of those of the step's node; for once or for one iteration. `inputs` stand for the inputs of the body. The values
/// of the step's graph that are the outputs of the body then, of which those in `wanted` that are not `none` are written where a node of
/// the body makes them. Refuses where nodes hold graphs of their own, or something is read that the step's graph does not know.
std::vector<ValueId> inlined(Step& step, const ir::Graph& body, const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& wanted);

}  // namespace onnxkit::opset
