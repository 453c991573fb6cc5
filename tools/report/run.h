#pragma once

#include <string>

#include "onnxkit/run.h"

namespace onnxkit::tools {

/// Inputs and outputs with type, range, and for rows of scores the five highest.
std::string run_text(const RunReport& report);

/// docs/run.md; times only where they are asked for, so that equal runs print the same.
std::string run_json(const std::string& model, const std::string& backend, const RunReport& report, bool with_times);

/// Nodes by time, longest first, and the sums by operator.
std::string profile_text(std::vector<NodeTime> nodes);

}  // namespace onnxkit::tools
