#pragma once

#include <span>
#include <string>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/value.h"

namespace onnxkit::checker {

/// A Resize with align_corners by scales. Where they give no whole length the official cases measure positions by that length, and ONNX Runtime and
/// PyTorch by the size of the result.
struct TwoReadings {
  Location location;
  bool is_certain = true;  ///< false: sizes or scales are open
};

std::vector<TwoReadings> two_readings(std::span<const std::unique_ptr<ir::GraphScope>> scopes,
                                      const InferredModel& inferred);

/// What to say when a model with such nodes runs on these inputs; empty where there are none. `reader` follows the official cases.
std::string two_readings_note(const ir::Model& model, const spec::OpTable& table, const std::vector<NamedValue>& inputs,
                              std::string_view reader);

}  // namespace onnxkit::checker
