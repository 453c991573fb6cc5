#include "tools/bench/arguments.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {

Result<double> share_named(const std::string& word) {
  const bool is_percent = word.ends_with('%');
  const char* end = word.data() + word.size() - (is_percent ? 1 : 0);
  double value = -1;
  const auto [at, fault] = std::from_chars(word.data(), end, value);
  if (fault != std::errc() || at != end || !std::isfinite(value) || std::signbit(value))
    return make_error("usage", quote(word) + " is not a share such as 5%");
  if (!is_percent && value >= 1)
    return make_error("usage", fmt::format("{} would be {:g} %; write a share such as 5%", quote(word), 100 * value));
  return is_percent ? value / 100 : value;
}

}  // namespace onnxkit::tools
