#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

struct CheckOptions {
  /// Codes that are not reported.
  std::set<std::string> suppress = {};
  /// Support profiles to hold the model against: "onnxruntime", "tflite@2.17" ...
  std::vector<std::string> targets = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
  /// Sizes of named dimensions.
  std::map<std::string, std::int64_t> dims = {};
  /// External data may lie outside the model's folder.
  bool allow_outside_data = false;
  /// Read all external data and compare it with its checksums.
  bool verify_checksums = false;
  /// Look into the weights (NaN, infinities, denormals): reads all of them.
  bool inspect_weights = false;
};

struct CheckReport {
  /// Most severe first; within a severity in the order of the model.
  std::vector<Diagnostic> diagnostics;
  std::size_t errors = 0, warnings = 0, infos = 0;
  std::size_t suppressed = 0;
  /// Findings beyond the limit kept for one code.
  std::size_t dropped = 0;
};

/// Everything that is wrong with a model, in one run. Fails only for wrong options (unknown target, unreadable schemas), never for what is in
/// the model.
ONNXKIT_API Result<CheckReport> check(const Model& model, const CheckOptions& options = {});

/// Names of `sizes` that occur in no declared shape of the model, each with the error "unknown-dimension" to report, which holds the valid
/// names. `check` ignores such sizes, as a name of many models need not be one of each.
ONNXKIT_API std::map<std::string, Error> unknown_dimensions(const Model& model,
                                                            const std::map<std::string, std::int64_t>& sizes);

/// What a code means: for `check --explain` and the generated pages.
struct CodeExplanation {
  std::string code;
  std::string summary;
  /// Markdown: what it finds, why it matters, how to fix it.
  std::string text;
};
/// All codes, sorted.
ONNXKIT_API std::vector<CodeExplanation> explain_codes();

}  // namespace onnxkit
