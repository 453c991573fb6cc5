#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "onnxkit/diff.h"
#include "tools/actions/backend_word.h"

namespace onnxkit::tools {

/// Whether a model of another framework names what runs it; no file is opened. Error usage.
Result<void> check_model_word(const std::string& word);

/// The sides that models and backends on a command line make: every ONNX model on every backend, models with a backend of their own on that. Without
/// backends one model is run by the reference and ONNX Runtime, several by the reference. Errors: of reading models, usage.
Result<std::vector<DiffSide>> read_sides(const std::vector<std::string>& models,
                                         const std::vector<std::string>& backends);

/// A model on a backend, again, and with each other number of threads, optimisation level and TF32 mode that the backend has as an option.
Result<std::vector<DiffSide>> read_self(const std::string& model, const std::string& backend,
                                        const BackendQuery& query);

/// NAME=VALUE words into the options that they mean. Error usage.
Result<void> take_names(const std::vector<std::string>& tolerances, const std::vector<std::string>& tasks,
                        const std::vector<std::string>& scores, const std::vector<std::string>& names,
                        const std::vector<std::string>& axes, DiffOptions& options);

}  // namespace onnxkit::tools
