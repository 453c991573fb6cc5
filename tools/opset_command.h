#pragma once

#include <string>
#include <vector>

#include "tools/command.h"

namespace onnxkit::tools {

/// "21", "ai.onnx=21" or "ai.onnx.ml=5", each into `opsets`. What is wrong with the first that is none of these or names a domain again; empty when nothing is.
std::string read_targets(const std::vector<std::string>& words, std::map<std::string, std::int64_t>& opsets);

enum class OpsetDirection { up, down };

/// `upgrade` and `downgrade`, which differ in the direction that they allow.
void add_opset_command(CommandList& list, OpsetDirection direction);

}  // namespace onnxkit::tools
