#include "libonnxkit/base/text/unknown_name.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/text/nearest.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit {

Error unknown_name(ErrorCode code, std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& candidates, std::size_t most_listed) {
  Error error = make_error(code, fmt::format("the model has no {} {}", what, quote(name)));
  for (std::size_t i = 0; i < std::min(candidates.size(), most_listed); ++i)
    error.diagnostic.expected += (i == 0 ? "" : ", ") + quote(candidates[i]);
  if (candidates.size() > most_listed) error.diagnostic.expected += " ...";
  if (const std::string_view close = nearest(name, candidates); !close.empty())
    error.diagnostic.help = fmt::format("did you mean {}?", quote(close));
  return error;
}

}  // namespace onnxkit
