#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/export.h"
#include "onnxkit/result.h"

// What is known of operators: their versions, signatures, and what changed from one to the next.
namespace onnxkit {

/// An input or output of an operator.
struct OpParameter {
  std::string name;
  /// The type constraint that it shares with others ("T"), or a type of its own ("tensor(int64)").
  std::string type;
  bool optional = false;
  bool variadic = false;
  /// Least number of values, all of one type or not; for variadic ones.
  std::uint32_t least = 1;
  bool homogeneous = true;
};

struct OpAttribute {
  std::string name;
  /// "float", "ints", "graph" ... as in the ONNX text syntax.
  std::string type;
  bool required = false;
  /// As ONNX text writes it: 0.01, "NOTSET", [0, 2, 3].
  std::optional<std::string> default_value;
  /// The strings that it may be; empty: any.
  std::vector<std::string> values;
};

struct OpTypeConstraint {
  std::string name;
  /// As ONNX spells them: "tensor(float)".
  std::vector<std::string> types;
  /// The same, shorter: "tensor(float, double)".
  std::string summary;
};

/// One difference to the version before.
struct OpChange {
  /// Stable: "added", "default-changed", "types-added", "meaning-changed" ... (docs/ops.md lists them)
  std::string kind;
  /// "input roi", "attribute mode", "inputs X, W and output Y"; empty for the operator itself.
  std::string subject;
  std::string before, after;
  /// One line for people.
  std::string text;
};

/// Which types of a type constraint a target runs, spelled as in docs/targets.md ("float", "seq(float)").
struct OpTypeSupport {
  std::string constraint;
  std::vector<std::string> runs, refused, unknown;
};

/// How a target stands to a version of an operator, from its support profile (docs/targets.md).
struct OpSupport {
  std::string target, version;
  /// "runs", "loads" (never seen to run), "refused" or "unknown".
  std::string standing;
  /// Why it does not run, where that is known.
  std::string reason;
  /// What a node must fulfil besides.
  std::vector<std::string> conditions;
  /// The type constraints of which not all types run.
  std::vector<OpTypeSupport> types;
};

/// What a format of another framework makes of an operator.
struct OpFormat {
  std::string format;
  /// "mapped"; "composed" of other operators, as `reason` says; "refused".
  std::string standing;
  std::string reason = {};
};

/// An operator of another framework that formats are read with.
struct ForeignOp {
  std::string name;
  std::vector<OpFormat> formats;
};

struct OpVersion {
  std::int64_t since_version = 1;
  /// Last opset in which it is in force; nothing while it is the newest.
  std::optional<std::int64_t> until;
  bool deprecated = false;
  /// Deprecated, and no later version redefines it: from since_version on the operator is gone.
  bool removed = false;
  bool experimental = false;
  /// The runtime that defines the operator in a domain of the ONNX standard, which does not have it: only operators asked for by name. Empty for all
  /// others.
  std::string added_by = {};
  bool has_function_body = false;
  bool non_deterministic = false;
  std::vector<OpParameter> inputs, outputs;
  /// Sorted by name.
  std::vector<OpAttribute> attributes;
  std::vector<OpTypeConstraint> types;
  std::vector<OpChange> changes;
  /// One for each target that the library has a profile of; empty unless asked for.
  std::vector<OpSupport> targets;
  /// One for each format that models are converted to; empty unless targets were asked for.
  std::vector<OpFormat> formats = {};
};

struct OpInfo {
  /// "ai.onnx" for the default domain.
  std::string domain;
  std::string name;
  /// Oldest first.
  std::vector<OpVersion> versions;
};

struct OpDomain {
  std::string name;
  std::int64_t newest_opset = 0;
  /// Part of the ONNX standard.
  bool official = false;
};

struct OpQuery {
  /// "Resize", "com.microsoft::Gelu"; empty: all operators. A name without a domain means every domain that has it, and
  /// letters of the other case are forgiven.
  std::vector<std::string> names = {};
  /// Only this domain.
  std::optional<std::string> domain = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
  /// Also tell which target runs which version.
  bool targets = false;
};

struct OpList {
  /// The domains that the operators are of, sorted.
  std::vector<OpDomain> domains;
  /// In the order of the names asked for; all operators are sorted by domain and name.
  std::vector<OpInfo> operators;
  /// Names asked for that are no operators of ONNX, but of frameworks whose files are read: "aten.add.Tensor".
  std::vector<ForeignOp> foreign = {};
};

/// Errors: unknown-operator, unknown-domain, with the nearest names as help.
ONNXKIT_API Result<OpList> list_operators(const OpQuery& query = {});

/// Release of ONNX whose operators the library knows: "1.23.2".
ONNXKIT_API std::string onnx_release();

}  // namespace onnxkit
