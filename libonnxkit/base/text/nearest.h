#pragma once

#include <span>
#include <string_view>

namespace onnxkit {

/// The candidate closest to `word` when it is close enough to be meant (edit distance at most a third of its length), else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace onnxkit
