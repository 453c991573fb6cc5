#pragma once

#include <filesystem>

#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::official {

/// Reads a recorded input or output (test_data_set_*/*.pb), a message of the kind that the graph declares.
Result<Value> read_recorded(const std::filesystem::path& file, const ir::ValueInfo& declared);

/// How far onnx's own runner lets an output be from the recorded one.
inline comparison::Tolerance official_tolerance(const Value& recorded) {
  comparison::Tolerance tolerance;
  if (recorded.is_tensor() && recorded.tensor.type() == ElementType::bfloat16) tolerance.relative = 0x1p-6;
  return tolerance;
}

}  // namespace onnxkit::official
