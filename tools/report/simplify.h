#pragma once

#include <optional>
#include <span>
#include <string>

#include "onnxkit/opset.h"
#include "onnxkit/simplify.h"

namespace onnxkit::tools {

/// What became of one model file.
struct SimplifiedFile {
  std::string model;
  std::string output;               ///< empty when nothing was written
  SaveReport saved;                 ///< what the writing did beside
  std::optional<Error> unreadable;  ///< the file could not be read or written; nothing below counts then
  std::optional<Error> refused;     ///< why the model stays as it is; nothing below counts then
  SimplifyReport report;
  std::optional<VerifyReport> verified;  ///< absent when nobody asked

  bool simplified() const { return !unreadable && !refused && !differs(); }
  bool differs() const { return verified && verified->verdict == Equality::different; }
};

/// The number of nodes of each operator before and now, where it changed: what `--dry-run` and `--verbose` print.
std::string simplify_table(const SimplifiedFile& file);
/// One line: "model.onnx: 345 nodes -> 201, weights 1.2 MiB -> 1.3 MiB, equal on the reference".
std::string simplify_summary(const SimplifiedFile& file, bool dry_run);
/// docs/json/simplify.schema.json.
std::string simplify_json(std::span<const SimplifiedFile> files, bool dry_run);

}  // namespace onnxkit::tools
