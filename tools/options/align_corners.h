#pragma once

#include <string>

#include "onnxkit/opset.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// `--align-corners`; requires `needed` unless that is empty.
void add_align_corners(CLI::App& command, AlignCorners& target, const std::string& needed = {});

}  // namespace onnxkit::tools
