#pragma once

#include <string>
#include <vector>

#include "onnxkit/dims.h"
#include "onnxkit/opset.h"
#include "tools/command.h"
#include "tools/report/opset.h"

namespace onnxkit::tools {

/// "21", "ai.onnx=21" or "ai.onnx.ml=5", each into `opsets`. What is wrong with the first that is none of these or names a domain again; empty when nothing is.
std::string read_targets(const std::vector<std::string>& words, std::map<std::string, std::int64_t>& opsets);

struct OpsetChoices {
  OpsetOptions conversion;
  VerifyOptions verification;
  DimSettings dims;  ///< of the inputs that both models are run with
  bool verifies = true;
  bool must_verify = false;  ///< a model whose runs could not be compared is refused
};

/// Converts the model, which came from `path`, and compares it with what it was. Nothing is written.
OpsetFile convert_opsets(Model& model, const std::string& path, const OpsetChoices& choices);

enum class OpsetDirection { up, down };

/// `upgrade` and `downgrade`, which differ in the direction that they allow.
void add_opset_command(CommandList& list, OpsetDirection direction);

}  // namespace onnxkit::tools
