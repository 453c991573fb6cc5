#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// Findings of a code about nodes that are not reported. A node may also say so itself: its metadata_props entry "onnxkit.suppress" lists
/// codes with commas between them, or has a * for all.
struct NodeSuppression {
  std::string
      node;  ///< its name, or without one the name of one of its outputs; * and ? stand for any characters and any one
  std::string code = "*";  ///< * for all
};

struct CheckOptions {
  /// Codes that are not reported.
  std::set<std::string> suppress = {};
  std::vector<NodeSuppression> suppress_nodes = {};
  /// Support profiles to hold the model against: "onnxruntime", "tensorrt@10" ...; or formats and frameworks that models are converted to
  /// ("torch", "torchscript", "tflite"): then what the conversion would refuse is reported. A model with errors of its own is not converted.
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

/// A finding about a node that is not reported.
struct SuppressedFinding {
  enum class By : std::uint8_t { model, options };
  Diagnostic finding;
  By by = By::options;
};

struct CheckReport {
  /// Most severe first; within a severity in the order of the model.
  std::vector<Diagnostic> diagnostics;
  std::size_t errors = 0, warnings = 0, infos = 0;
  /// Findings of suppressed codes and of nodes for which they are suppressed.
  std::size_t suppressed = 0;
  /// The latter of them, the first 1000.
  std::vector<SuppressedFinding> suppressed_at_nodes;
  /// Findings beyond the limit kept for one code.
  std::size_t dropped = 0;
};

/// Everything that is wrong with a model, in one run. Fails only for wrong options (unknown target, unreadable schemas), never for what is in
/// the model.
ONNXKIT_API Result<CheckReport> check(const Model& model, const CheckOptions& options = {});

/// The place of each finding by names instead of positions, so that it outlives nodes that are inserted elsewhere: path of the graph, operator
/// and name of the node (without one, the names of its outputs), and what of it is meant.
ONNXKIT_API std::vector<std::string> places_by_name(const Model& model, std::span<const Diagnostic> findings);

/// Names of `sizes` that occur in no declared shape of the model, each with the error "unknown-dimension" to report, which holds the valid
/// names. `check` ignores such sizes, as a name of many models need not be one of each.
ONNXKIT_API std::map<std::string, Error> unknown_dimensions(const Model& model,
                                                            const std::map<std::string, std::int64_t>& sizes);

/// Names that CheckOptions::targets takes, sorted.
ONNXKIT_API std::vector<std::string> target_names();

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
