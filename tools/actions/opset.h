#pragma once

#include <string>

#include "onnxkit/dims.h"
#include "onnxkit/opset.h"
#include "tools/report/opset.h"

namespace onnxkit::tools {

struct OpsetChoices {
  OpsetOptions conversion;
  VerifyOptions verification;
  DimSettings dims;  ///< of the inputs that both models are run with
  bool verifies = true;
  bool must_verify = false;  ///< a model whose runs could not be compared is refused
};

/// Converts the model, which came from `path`, and compares it with what it was. Nothing is written.
OpsetFile convert_opsets(Model& model, const std::string& path, const OpsetChoices& choices);

/// Whether the target is wrong whatever the model is.
bool is_wrong_target(const OpsetFile& file);

/// The file with the error that ended its conversion.
OpsetFile unreadable(OpsetFile file, const Error& error);

}  // namespace onnxkit::tools
