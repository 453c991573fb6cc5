#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {

/// Numbers that an input may hold so that every node that reads it can work.
struct InputRange {
  enum class Form : std::uint8_t {
    between,  ///< integers from `low` to `high`, both included
    parts,    ///< sizes that add up to `high`
    scales,   ///< positive reals, one for each axis
    axes,     ///< different numbers of `numbers`
    sizes,    ///< those of `numbers`, one for each element; small ones where they are 1
    shares,   ///< reals from 0 to 1
  };
  Form form = Form::between;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::vector<std::int64_t> numbers = {};
  std::string reason;  ///< "indices into axis 0 of size 30522 at main / node 4 (Gather)"
};

/// What the nodes that a tensor input of the main graph reaches ask of it: indices address a dimension, counts and lengths are positive and
/// within theirs, pieces make up an axis, scales are positive, axes are there. The input is followed through operators that only move it, into subgraphs and functions. nullopt when no node says anything.
std::optional<InputRange> range_of_input(const ir::Model& model, const spec::OpTable& table,
                                         const checker::InferredModel& inferred, ir::ValueId input);

}  // namespace onnxkit::inputs
