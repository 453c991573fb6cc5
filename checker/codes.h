#pragma once

#include <span>

#include "scripts/cmake/embedded.h"

namespace onnxkit::checker {

/// The pages of checker/codes: one Markdown text per diagnostic code, sorted by code. The first line is "# code: summary".
std::span<const EmbeddedText> embedded_codes();

}  // namespace onnxkit::checker
