#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// Where a Resize with align_corners samples when its scale gives no whole length: the official cases measure positions by the scaled
/// length, ONNX Runtime and PyTorch by the size of the result.
enum class AlignCorners : std::uint8_t {
  refuse,         ///< a rewrite of such a node is refused
  scaled_length,  ///< as the official cases say
  result_size,  ///< as ONNX Runtime says: the node gets sizes in place of scales before anything else, and is verified as that
};

struct OpsetOptions {
  /// Version wanted of each domain: {"", 21}, {"ai.onnx.ml", 5}. "ai.onnx" and "" are one.
  std::map<std::string, std::int64_t> opsets = {};
  /// IR version of the result; without it the model keeps its own, raised only where the result could not be said in it.
  std::optional<std::int64_t> ir_version = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
  bool allow_outside_data = false;
  AlignCorners align_corners = AlignCorners::refuse;
};

/// One node that crossed one version change of its operator and did not stay as it was.
struct OpsetChange {
  /// The node of the model before; without a node for what is done to the model as a whole.
  Location location;
  /// Operator as it was before this change.
  std::string op;
  std::int64_t from = 0, to = 0;
  /// "axes becomes an input" ...
  std::string what;
};

/// An import that moved.
struct OpsetImportChange {
  std::string domain;
  /// "function pkg::Block"; empty for the model's own import.
  std::string function;
  std::int64_t from = 0, to = 0;
};

/// What stands in the way. Its location is that of the node of the model as it came.
struct OpsetRefusal : Diagnostic {
  /// The operator that could not go on, when that node was written with others by then; else empty.
  std::string written_with;
};

struct OpsetReport {
  std::vector<OpsetImportChange> imports;
  /// Domains that were asked for and that the model does not import: there is nothing to do for them.
  std::vector<std::string> not_imported;
  std::vector<OpsetChange> changes;
  /// Everything that stands in the way, node by node: codes no-equivalent, unknown-fact, type-not-there, operator-too-new, operator-removed, unknown-operator, ir-version, and those of check
  /// for nodes and imports that are wrong in the model as it came, and for what the conversion would have to believe although it is wrong. Empty when the
  /// conversion succeeded.
  std::vector<OpsetRefusal> refusals;
  /// Errors of check that the model had as it came and that the conversion leaves as they are.
  std::vector<Diagnostic> warnings;
  /// Nodes in all graphs and functions.
  std::size_t nodes = 0;
  /// Version changes of nodes that needed no rewriting.
  std::size_t compatible = 0;
  std::optional<std::int64_t> old_ir_version, new_ir_version;

  bool succeeded() const { return refusals.empty(); }
};

/// Moves the model, its subgraphs and its functions to other versions of operator sets, up or down. The result computes the same (docs/opset.md); where that cannot be, the
/// report says so, and the model stays as it was.
/// Where it changes the model and `original` is set, that becomes the model as it was, which costs no copy; with AlignCorners::result_size
/// as it is read.
/// Errors: no-graph, opset-range (no such version is known).
ONNXKIT_API Result<OpsetReport> change_opset(Model& model, const OpsetOptions& options,
                                             std::optional<Model>* original = nullptr);

struct VerifyOptions {
  /// Schemas of operators, and what else calls share.
  Context context = {};
  bool allow_outside_data = false;
  std::uint64_t seed = 0;
  /// Of each of the two runs. A model that would take more is not compared. Memory 0, in the context, too: 1 GiB and four times what the
  /// weights take, at most a quarter of the machine's memory.
  Limits limits = {.threads = 0, .memory_bytes = 0, .time_ms = 20'000, .iterations = 0};
  std::map<std::string, std::int64_t> dims = {};
};

/// What a comparison of two models by their results came to.
enum class Equality {
  equal,         ///< both models gave the same outputs
  different,     ///< they did not
  not_compared,  ///< they were not run to their end, or draw random numbers; `reason` says why
};

struct VerifyReport {
  Equality verdict = Equality::not_compared;
  /// What differs, or why nothing was compared.
  std::string reason;
  /// The node of the model before that could not be run, if one.
  Location location = {};
};

/// Runs two models on the reference with the same made-up inputs and compares what comes out, number by number: with unrounded intermediate values, so that
/// rounding is no excuse. Errors: unknown-dimension.
ONNXKIT_API Result<VerifyReport> verify_equal(const Model& before, const Model& after,
                                              const VerifyOptions& options = {});

}  // namespace onnxkit
