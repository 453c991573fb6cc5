#pragma once

#include <cstdint>
#include <string>

#include "onnxkit/opset.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// How a conversion is compared with its model.
struct VerificationOptions {
  bool none = false, required = false;
  std::uint64_t limit_ms = 20'000;
  std::uint64_t memory_bytes = 0;
  int threads = 0;

  /// Into what the library takes.
  void set(VerifyOptions& options) const;
};

/// `--no-verify`, `--verify`, `--verify-limit`, `--memory-limit` and `--threads`; each requires `needed` unless that is empty.
void add_verification(CLI::App& command, VerificationOptions& options, const std::string& needed = {});

}  // namespace onnxkit::tools
