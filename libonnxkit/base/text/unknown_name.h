#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit {

/// "the model has no WHAT NAME", with the names that there are, at most `most_listed`, and the nearest of them.
Error unknown_name(ErrorCode code, std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& candidates, std::size_t most_listed = 10);

}  // namespace onnxkit
