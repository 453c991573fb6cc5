#pragma once

#include <map>
#include <string>
#include <vector>

#include "libonnxkit/diff/model_traits.h"
#include "onnxkit/diff.h"

// What changes a verdict that the noise floor gave, or says more of it.
namespace onnxkit::diffing {

/// Between two ONNX models another order of axes is a difference; only other frameworks have layouts of their own.
void refuse_moved(const std::vector<std::string>& moved, std::vector<OutputDiff>& outputs);

/// Outputs that a side lacks, with the reason.
void report_absent(const std::map<std::string, std::string>& absent, std::vector<OutputDiff>& outputs);

/// What is drawn at random differs on every side; with a seed, on every backend.
void leave_random(std::vector<OutputDiff>& outputs, const std::map<std::string, Draw>& random, bool is_one_backend);

/// A quantizer's error is more than the steps of its arithmetic, and what it may cost is for people to say.
void report_quantized(std::vector<OutputDiff>& outputs);

}  // namespace onnxkit::diffing
