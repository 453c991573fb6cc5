#pragma once

#include "onnxkit/plan.h"
#include "onnxkit/run.h"

namespace onnxkit::running {

/// How the note of the sizes begins that were chosen for generated inputs.
inline constexpr std::string_view generated_with = "the inputs were generated with ";

// As declared in the public header of the same names.
Result<void> check_inputs(const Model& model, const std::vector<RunInput>& inputs);
std::vector<std::string> input_names(const Model& model);
std::vector<std::string> output_names(const Model& model);
Result<CompletedInputs> complete_inputs(const Model& model, std::vector<NamedValue> given, const RunOptions& options);
Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options);
Result<PlanSummary> summarize_plan(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options);

}  // namespace onnxkit::running
