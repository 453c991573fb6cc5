#pragma once

#include <string>

namespace onnxkit::tools {

/// A check of an option's number: what is wrong with it, or nothing.
inline std::string not_negative(const std::string& number) {
  return number.starts_with('-') ? number + " is negative" : std::string();
}

}  // namespace onnxkit::tools
