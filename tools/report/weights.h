#pragma once

#include <string>

#include "onnxkit/convert.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

/// "trained.pt: 62 weights: 60 by name, 2 by shape; 1 tensor is not used".
std::string weights_summary(const WeightsReport& report, const std::string& file);

/// A line for each initializer that got a tensor, lacks one, and each tensor that nothing got.
std::string weights_table(const WeightsReport& report);

/// As in docs/json/convert.schema.json.
Json weights_json(const WeightsReport& report, const std::string& file);

}  // namespace onnxkit::tools
