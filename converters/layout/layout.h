#pragma once

#include <cstddef>

#include "libonnxkit/ir/model.h"

// Layouts of values: Transposes that other nodes can do without.
namespace onnxkit::layout {

/// Removes Transposes whose order other nodes can compute in: they move through operators that work in any order of axes, pairs cancel, and
/// stored tensors are transposed once. What the model computes, its inputs and its outputs stay. Returns the number of Transposes less.
std::size_t reduce_transposes(ir::Model& model);

}  // namespace onnxkit::layout
