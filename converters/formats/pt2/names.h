#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace onnxkit::pt2 {

/// Names that Python and TorchScript take, each given once.
class Identifiers {
 public:
  /// The name itself where it is an identifier that is free: letters, digits and _, no digit first, no keyword.
  std::string make(std::string_view name);

 private:
  std::unordered_set<std::string> used_;
};

/// Names of parameters: paths of attributes, each given once, of which none leads through another ("a" and "a.b").
class AttributePaths {
 public:
  std::string make(std::string_view name);

 private:
  bool is_free(const std::string& path) const;

  std::unordered_set<std::string> used_, folders_;
};

}  // namespace onnxkit::pt2
