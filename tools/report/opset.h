#pragma once

#include <optional>
#include <span>
#include <string>

#include "onnxkit/opset.h"

namespace onnxkit::tools {

/// What became of one model file.
struct OpsetFile {
  std::string model;
  std::string output;               ///< empty when nothing was written
  SaveReport saved;                 ///< what the writing did beside
  std::optional<Error> unreadable;  ///< the file could not be read or written; nothing below counts then
  OpsetReport report;
  std::optional<VerifyReport> verified;  ///< absent when nobody asked

  bool converted() const { return !unreadable && report.succeeded() && !differs(); }
  bool differs() const { return verified && verified->verdict == Equality::different; }
};

/// The plan, node by node: what `--dry-run` prints.
std::string opset_plan(const OpsetFile& file);
/// What was wrong with the model before, then what stands in the way: the first hundred of each with their locations, and how many more there are.
std::string opset_obstacles(const OpsetFile& file, bool color);
/// One line: "model.onnx: ai.onnx 9 -> 21, 3 nodes changed, equal on the reference".
std::string opset_summary(const OpsetFile& file, bool dry_run);
/// docs/json/opset.schema.json.
std::string opset_json(std::string_view command, std::span<const OpsetFile> files, bool dry_run);

}  // namespace onnxkit::tools
