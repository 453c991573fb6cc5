#include "libonnxkit/running/run.h"

namespace onnxkit {

std::vector<std::string> input_names(const Model& model) { return running::input_names(model); }

std::vector<std::string> output_names(const Model& model) { return running::output_names(model); }

Result<CompletedInputs> complete_inputs(const Model& model, std::vector<NamedValue> given, const RunOptions& options) {
  return running::complete_inputs(model, std::move(given), options);
}

Result<void> check_inputs(const Model& model, const std::vector<RunInput>& inputs) {
  return running::check_inputs(model, inputs);
}

Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options) {
  return running::run(model, std::move(inputs), options);
}

Result<PlanSummary> summarize_plan(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options) {
  return running::summarize_plan(model, std::move(inputs), options);
}

}  // namespace onnxkit
