#pragma once

#include <string>

#include "onnxkit/limits.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// `--memory-limit`, `--time-limit` and `--iteration-limit` of a run; each requires `needed` unless that is empty.
void add_limits(CLI::App& command, Limits& limits, const std::string& needed = {});

}  // namespace onnxkit::tools
