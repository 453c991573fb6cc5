#pragma once

#include "libonnxkit/ir/model.h"
#include "onnxkit/simplify.h"

namespace onnxkit::edit {

struct Simplified {
  ir::Model model;
  SimplifyReport report;
};

// As declared in the public header of the same names.
std::vector<Simplification> simplifications();
/// A model of its own that shares text and weights with `model`.
Result<Simplified> simplify(const ir::Model& model, const SimplifyOptions& options);

}  // namespace onnxkit::edit
