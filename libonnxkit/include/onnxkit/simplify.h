#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/export.h"
#include "onnxkit/limits.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// A rewriting that `simplify` knows (docs/simplify.md).
struct Simplification {
  std::string name;
  bool is_default = false;  ///< runs unless it is left out; others have to be asked for
};

struct SimplifyOptions {
  /// By name: those left out of the usual ones, and further ones.
  std::set<std::string> without = {}, with = {};
  /// Initializers that are inputs, too, are constants and no longer inputs. Below IR version 4 they always are.
  bool fix_defaults = false;
  /// A node whose result takes more bytes than this, and more than its inputs, is not folded: it would make the file larger.
  std::uint64_t most_growth = std::uint64_t{1} << 20;
  /// Of each run that folds constants: what takes more is left as it is, such as a call of a function with an endless loop.
  Limits limits = {.threads = 0, .memory_bytes = std::uint64_t{4} << 30, .time_ms = 20'000, .iterations = 100'000};
  bool allow_outside_data = false;
  /// Schemas of operators, and what else calls share.
  Context context = {};
};

struct SimplifyReport {
  /// Those that changed something, in the order in which they first did.
  std::vector<std::string> applied;
  /// Nodes of the main graph by operator ("Conv", "com.microsoft::FusedConv").
  std::map<std::string, std::size_t> before, after;
  /// Bytes of the initializers of the main graph.
  std::uint64_t weights_before = 0, weights_after = 0;
  /// Inputs that have an initializer as their default, which a caller may replace: it is no constant.
  std::size_t replaceable = 0;
  std::optional<std::int64_t> old_ir_version, new_ir_version;
};

ONNXKIT_API std::vector<Simplification> simplifications();

/// Writes the main graph of the model with fewer nodes that compute the same: folds what is constant, removes what does nothing, is computed twice or
/// not needed. Inputs and outputs keep their names, order and types, but for inputs below IR version 4 that are initializers, too, which go. The model
/// stays as it was when this fails. Where it changes and `original` is set, that becomes the model as it was.
/// Errors: no-graph, malformed-model (errors of `check` in its structure), opset-range (below 7), not-supported (training information),
/// unknown-option (a name that `simplifications` does not have), and those of limits.
ONNXKIT_API Result<SimplifyReport> simplify(Model& model, const SimplifyOptions& options = {},
                                            std::optional<Model>* original = nullptr);

}  // namespace onnxkit
