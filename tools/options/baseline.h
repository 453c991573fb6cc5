#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "onnxkit/check.h"
#include "onnxkit/result.h"

namespace onnxkit::tools {

/// Known findings: how many of a code at a place of a model file.
class Baseline {
 public:
  /// Errors: cannot-read, json-syntax.
  static Result<Baseline> read(const std::string& path);

  /// `places` are those of the report's findings by names.
  void add(const std::string& model, const CheckReport& report, const std::vector<std::string>& places);
  /// Takes the known findings out of the report, each once.
  std::vector<Diagnostic> take_from(const std::string& model, CheckReport& report,
                                    const std::vector<std::string>& places);
  std::string json() const;

 private:
  struct Key {
    std::string model, code, place;
    auto operator<=>(const Key&) const = default;
  };
  Key key_of(const std::string& model, const Diagnostic& finding, const std::string& place) const;

  bool by_position_ = false;  ///< of the first version, which knew nodes by their positions
  std::map<Key, std::size_t> counts_;
};

}  // namespace onnxkit::tools
