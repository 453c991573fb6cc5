#pragma once

#include "tools/completion/complete.h"

namespace CLI {
class Option;
}

namespace onnxkit::tools {

/// What an option or argument takes, by the name of its type in the help: "text|json", "CODE,...", "BACKEND", "FILE", "DIR". The words are all there
/// are, whatever is typed.
Completion values_of(const CLI::Option& option);

}  // namespace onnxkit::tools
