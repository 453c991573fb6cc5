#include "tools/options/align_corners.h"

#include <CLI/CLI.hpp>

#include "tools/options/choice.h"

namespace onnxkit::tools {

void add_align_corners(CLI::App& command, AlignCorners& target, const std::string& needed) {
  CLI::Option* option = add_choice<AlignCorners>(
      command, "--align-corners", target,
      {{"refuse", AlignCorners::refuse},
       {"scaled-length", AlignCorners::scaled_length},
       {"result-size", AlignCorners::result_size}},
      "What a Resize with align_corners and a fractional length measures positions by: as the official cases "
      "(scaled-length) or as ONNX Runtime and PyTorch (result-size)");
  if (!needed.empty()) option->needs(needed);
}

}  // namespace onnxkit::tools
