#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "onnxkit/diff.h"

// What comparisons and measurements have in common: models on backends, and sets of inputs.
namespace onnxkit::c {

struct SideOptions {
  std::vector<std::string> backends, files;
};

/// "backends" and "files".
SideOptions side_options_of(OptionReader& options);

/// Error usage without a model, which defines the inputs.
Result<std::vector<std::shared_ptr<const Model>>> models_of(const onnxkit_model* const* models, std::size_t count);

/// Each model on each backend, then the files. Errors: usage.
Result<std::vector<DiffSide>> sides_of(const std::vector<std::shared_ptr<const Model>>& models,
                                       const SideOptions& options);

/// How inputs are completed.
struct InputOptions {
  DimSettings dims;
  std::uint64_t seed = 0;
  Context context = {};
  std::stop_token stop = {};
};

/// A set of what is given, completed. Errors: of dims and of inputs.
Result<InputSet> set_of(const Model& model, std::string name, const std::vector<NamedValue>& given,
                        const InputOptions& options);

}  // namespace onnxkit::c
