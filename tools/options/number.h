#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {

// Checks of an option's number: what is wrong with it, or nothing.

inline std::string not_negative(const std::string& number) {
  return number.starts_with('-') ? number + " is negative" : std::string();
}

template <std::uint64_t least, std::uint64_t most>
std::string whole_between(const std::string& word) {
  std::uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [at, fault] = std::from_chars(word.data(), end, number);
  if (fault == std::errc() && at == end && number >= least && number <= most) return {};
  return quote(word) + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

/// For options that take a std::uint64_t, into which CLI11 forces numbers that do not fit.
inline std::string whole_number(const std::string& word) {
  return whole_between<0, std::numeric_limits<std::uint64_t>::max()>(word);
}

}  // namespace onnxkit::tools
