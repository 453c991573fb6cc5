#pragma once

#include <string>
#include <vector>

#include "onnxkit/infer.h"

namespace onnxkit::tools {

/// Every value with its type, graph by graph.
std::string infer_text(const InferReport& report);

/// "118 of 121 values fully known (97.5 %)".
std::string infer_summary(const InferReport& report);

/// docs/infer.md; `output` is the file that was written, or empty.
std::string infer_json(const std::string& model, const InferReport& report, const std::string& output);

/// From the value back to where knowledge of its shape was lost.
std::string why_text(const std::vector<WhyStep>& steps);
std::string why_json(const std::string& model, const std::vector<WhyStep>& steps);

}  // namespace onnxkit::tools
