#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnxkit/diagnostic.h"

namespace onnxkit::checker {

/// Collects diagnostics. Suppressed codes are counted but not kept; a code that repeats without end keeps its first `limit`.
class Collector {
 public:
  explicit Collector(std::unordered_set<std::string> suppressed = {}, std::size_t limit_per_code = 1000)
      : suppressed_(std::move(suppressed)), limit_(limit_per_code) {}

  void add(Diagnostic diagnostic) {
    if (suppressed_.contains(diagnostic.code)) {
      ++suppressed_count_;
      return;
    }
    if (is_suppressed_ && is_suppressed_(diagnostic)) {
      ++suppressed_count_;
      return;
    }
    if (diagnostic.severity == Severity::error) ++error_count_;
    if (++count_of_[diagnostic.code] > limit_) {
      ++dropped_count_;
      return;
    }
    diagnostics_.push_back(std::move(diagnostic));
  }

  /// Findings for which `is_suppressed` holds are counted but not kept, either.
  void suppress_if(std::function<bool(const Diagnostic&)> is_suppressed) { is_suppressed_ = std::move(is_suppressed); }

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  std::vector<Diagnostic> take() { return std::move(diagnostics_); }
  std::size_t error_count() const { return error_count_; }
  std::size_t suppressed_count() const { return suppressed_count_; }
  /// Findings beyond the limit of their code.
  std::size_t dropped_count() const { return dropped_count_; }

 private:
  std::unordered_set<std::string> suppressed_;
  std::function<bool(const Diagnostic&)> is_suppressed_;
  std::size_t limit_;
  std::vector<Diagnostic> diagnostics_;
  std::unordered_map<std::string, std::size_t> count_of_;
  std::size_t error_count_ = 0, suppressed_count_ = 0, dropped_count_ = 0;
};

}  // namespace onnxkit::checker
