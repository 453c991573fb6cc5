#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit {

struct InferOptions {
  /// Sizes of named dimensions: {"N", 8} makes every N an 8, those of the inputs included.
  std::map<std::string, std::int64_t> dims = {};
  /// Schemas of operators, and what else calls share.
  Context context = {};
  /// Takes the content of an initializer that is also a graph input for constant, though from IR version 4 on a caller may replace it. The report
  /// says so (assumed-default).
  bool assume_defaults = true;
};

/// One value and what inference knows of it.
struct InferredValue {
  /// Graph path ("main", "main / node 3 / then_branch").
  std::string graph;
  std::string name;
  /// "float[N, 3, 224, 224]"; "?" where nothing is known.
  std::string type;
  /// Type and every size known, as constants or expressions.
  bool complete = false;
};

struct InferReport {
  /// What is provably wrong; the same findings as check's.
  std::vector<Diagnostic> diagnostics;
  /// Values that nodes define, in graph order, subgraphs included.
  std::vector<InferredValue> values;
  std::size_t complete = 0;
};

/// Infers every value's type and shape and writes them into `model` as value_info: stale entries are replaced, graph outputs get what they left
/// open. Dimensions stay symbolic where they must. Fails only for wrong options, with unknown-dimension for a name that the model has not.
ONNXKIT_API Result<InferReport> infer(Model& model, const InferOptions& options = {});

/// One step on the way back from a value to where knowledge of its shape was lost.
struct WhyStep {
  /// Path of the value's graph, as in InferredValue.
  std::string graph;
  std::string value;
  std::string type;
  /// "node 12 (Reshape "view")": what defines the value; empty for inputs and initializers.
  std::string node;
  std::string reason;
};

/// Why the shape of `value` is not fully known, from the value back to the cause; of several sizes that are not known, the first is followed. When
/// all are known, why a size depends on data; one step when none does. `value` is a name, or path of the graph and name
/// ("main / node 3 / then_branch / y"), which a name of several graphs but not the main one needs.
/// Errors: unknown-value, unknown-dimension.
ONNXKIT_API Result<std::vector<WhyStep>> why_unknown(const Model& model, std::string_view value,
                                                     const InferOptions& options = {});

}  // namespace onnxkit
