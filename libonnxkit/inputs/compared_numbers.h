#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {

/// Numbers with which nodes compare the elements of an input, or whose distance they take.
struct ComparedNumbers {
  std::vector<double> of_all;  ///< with elements of every column
  std::vector<std::vector<double>>
      of_columns;  ///< with those at a position of the last axis; may be shorter than the axis
  std::string at;  ///< the first such node: "main / node 4 (Less)"
};

/// What the nodes that a tensor input of the main graph reaches compare it with: thresholds of trees, constants. The input is followed through
/// operators that only move it, into bodies and functions. nullopt when there is nothing.
std::optional<ComparedNumbers> compared_numbers(const ir::Model& model, const spec::OpTable& table, ir::ValueId input);

}  // namespace onnxkit::inputs
