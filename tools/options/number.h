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

/// For options that take a std::uint64_t, into which CLI11 forces numbers that do not fit.
inline std::string whole_number(const std::string& word) {
  std::uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [at, fault] = std::from_chars(word.data(), end, number);
  if (fault == std::errc() && at == end) return {};
  return quote(word) + " is not a whole number from 0 to " + std::to_string(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace onnxkit::tools
