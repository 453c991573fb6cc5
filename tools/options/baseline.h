#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "onnxkit/check.h"
#include "onnxkit/result.h"

namespace onnxkit::tools {

/// Known findings: how many of a code at a place of a model file.
class Baseline {
 public:
  /// Errors: cannot-read, json-syntax.
  static Result<Baseline> read(const std::string& path);

  void add(const std::string& model, const Diagnostic& finding) { ++counts_[key_of(model, finding)]; }
  void add(const std::string& model, const CheckReport& report);
  /// Takes the known findings out of the report, each once; how many they were.
  std::size_t take_from(const std::string& model, CheckReport& report);
  std::string json() const;

 private:
  struct Key {
    std::string model, code, place;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const std::string& model, const Diagnostic& finding);

  std::map<Key, std::size_t> counts_;
};

}  // namespace onnxkit::tools
