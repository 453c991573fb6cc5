#pragma once

#include <map>
#include <string>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/formats/torchscript/module.h"
#include "converters/formats/torchscript/settings.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::torchscript {

struct Lowered {
  foreign::Model model;
  /// Stored tensors that the module replaces: the last outputs are what it holds in their place.
  std::vector<foreign::ValueId> rebound;
  /// Inputs that stand for buffers.
  std::vector<foreign::ValueId> state;
};

/// Follows `forward` of the module, calls of other modules included, and writes the operators that it calls as a graph. Branches whose condition is
/// known are decided, loops with a known number of passes unrolled. Error codes: malformed-model, not-supported, nesting-depth,
/// memory-limit, usage (`settings` do not fit the inputs).
Result<Lowered> lower(Module& module, const Settings& settings);

}  // namespace onnxkit::torchscript
