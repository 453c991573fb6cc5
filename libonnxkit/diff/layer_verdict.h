#pragma once

#include <optional>
#include <string_view>

#include "libonnxkit/compare/verdict.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// Nothing where no deviation was measured: of other types than floating ones, of other shapes, with NaN on one side.
std::optional<FloorMeasure> measured(const comparison::TensorVerdict& tensor_verdict);

struct LayerVerdict {
  LayerDiff layer;
  bool in_doubt = false;  ///< more samples may tell otherwise
};

/// A side's value of what a node of the main graph writes.
LayerVerdict layer_verdict(const ir::Graph& graph, std::size_t node, std::string_view name, const exec::Spread& spread,
                           const Value& got, Profile profile);

}  // namespace onnxkit::diffing
