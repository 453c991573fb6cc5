#pragma once

#include <string>
#include <vector>

#include "converters/layout/permutation.h"
#include "libonnxkit/ir/model.h"

// The order of axes in which a model takes its inputs and gives its outputs.
namespace onnxkit::layout {

/// The axes of an input or output, counted as they were, in the order that it is to have.
struct BoundaryOrder {
  std::string name;
  bool is_output = false;
  Permutation order;
};

/// Inputs that nothing but Transposes of one kind read, and outputs that Transposes write, with the order beyond those.
std::vector<BoundaryOrder> orders_at_boundary(const ir::Model& model);

/// Gives inputs and outputs other orders, with a Transpose behind each input and before each output, which `reduce_transposes` removes where the
/// model computes in that order. Those that bodies read, or that are both, stay. Gives those that changed.
std::vector<BoundaryOrder> reorder_boundary(ir::Model& model, const std::vector<BoundaryOrder>& orders);

}  // namespace onnxkit::layout
