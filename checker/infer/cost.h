#pragma once

#include <optional>

#include "checker/infer/inference.h"

namespace onnxkit::checker {

/// Multiplications (each with its addition) that a node needs, from the shapes that inference found; 0 for operators without
/// contractions, unknown where shapes are.
Dim multiply_adds(const ir::Graph& graph, const ir::Node& node, const GraphInfo& info, DimPool& dims);

/// Largest number of bytes of node outputs alive at once when the graph runs in file order; unknown when a size is. For symbolic sizes the
/// maximum is taken where it can be decided, else written as max(...).
Dim activation_peak(const ir::Graph& graph, const GraphInfo& info, DimPool& dims);

}  // namespace onnxkit::checker
