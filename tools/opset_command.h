#pragma once

#include "tools/command.h"

namespace onnxkit::tools {

enum class OpsetDirection { up, down };

/// `upgrade` and `downgrade`, which differ in the direction that they allow.
void add_opset_command(CommandList& list, OpsetDirection direction);

}  // namespace onnxkit::tools
