#pragma once

#include "onnxkit/run.h"

namespace onnxkit::running {

// As declared in the public header of the same names.
std::vector<std::string> input_names(const Model& model);
std::vector<std::string> output_names(const Model& model);
Result<std::vector<RunInput>> complete_inputs(const Model& model, std::vector<NamedValue> given,
                                              const RunOptions& options);
Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options);

}  // namespace onnxkit::running
