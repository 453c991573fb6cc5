#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onnxkit/bench.h"

// Outputs of measured runs against the reference.
namespace onnxkit::benching {

/// The reference and its perturbed runs hold some tens of copies of inputs and outputs; nothing where the machine has memory for them.
std::optional<std::string> reason_not_to_judge(const InputSet& inputs, const std::vector<NamedValue>& outputs);

/// Sets the verdict of a side and why, by the arithmetic that the side says it computes in. Neither where the judging was cancelled.
void judge(std::shared_ptr<const Model> model, const InputSet& inputs, const std::vector<NamedValue>& outputs,
           DiffOptions options, BenchSideReport& side);

}  // namespace onnxkit::benching
