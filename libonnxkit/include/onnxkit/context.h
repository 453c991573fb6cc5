#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/export.h"
#include "onnxkit/limits.h"
#include "onnxkit/result.h"

namespace onnxkit {

namespace spec {
class OpTable;
}

/// Where programs that host other runtimes are (docs/backends.md), and what they may take.
struct WorkerSettings {
  std::vector<std::filesystem::path> folders = {};
  std::string python = "python3";
  WorkerLimits limits = {};
  /// Model files may run code in the runtime that loads them, as pickled objects do. Without it such files are refused, as far as the
  /// runtimes tell (docs/backends.md).
  bool trust_files = false;
};

struct ContextOptions {
  /// YAML schema packs for operators of further domains (docs/schemas.md); of two that describe an operator the later one counts.
  std::vector<std::filesystem::path> schemas = {};
  WorkerSettings workers = {};
  /// Of calls that say none of their own.
  Limits limits = {};
};

/// What calls have in common and is made once: operators' schemas, parsed support profiles, where other runtimes are, limits, and the pools of
/// threads. Copies share everything; several threads may use one, and while one of them has a pool the others run without. Functions find it in their options, and without one use the library's own schemas.
class ONNXKIT_API Context {
 public:
  Context();
  /// Errors: cannot-read, schema-pack.
  static Result<Context> make(ContextOptions options);

  const WorkerSettings& workers() const;
  /// `own`, with the context's numbers where it has 0.
  Limits limits(const Limits& own = {}) const;

  /// For the other parts of the library: the schemas, and what was made once of the files that it carries, by key.
  const spec::OpTable& table() const;
  std::shared_ptr<const spec::OpTable> shared_table() const;
  class Cache;
  Cache& cache() const;

 private:
  struct State;
  explicit Context(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace onnxkit
