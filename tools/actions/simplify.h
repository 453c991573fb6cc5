#pragma once

#include "onnxkit/dims.h"
#include "tools/report/simplify.h"

namespace onnxkit::tools {

struct SimplifyChoices {
  SimplifyOptions simplification;
  VerifyOptions verification;
  DimSettings dims;  ///< of inputs: the model is fixed to these
  bool verifies = true;
  bool must_verify = false;  ///< a model whose runs could not be compared is refused
};

/// Simplifies the model, which came from `path`, and compares it with what it was. Nothing is written.
SimplifiedFile simplify_model(Model& model, const std::string& path, const SimplifyChoices& choices);

/// The file with the error that ended it.
SimplifiedFile unreadable(SimplifiedFile file, const Error& error);

}  // namespace onnxkit::tools
