#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onnxkit::checker {

class InferContext;
/// Infers one node: reads the context, sets what it knows of the outputs, reports what is provably wrong.
/// Called only when arity and types agree with the schema (unknown types count as agreeing).
using InferFunction = void (*)(InferContext&);

/// Operator versions, by since_version, both ends included.
struct VersionRange {
  std::int32_t first = 1;
  std::int32_t last = std::numeric_limits<std::int32_t>::max();
};
constexpr VersionRange versions(std::int32_t first, std::int32_t last) { return {first, last}; }
constexpr VersionRange since(std::int32_t first) { return {.first = first}; }
constexpr VersionRange all_versions() { return {}; }

/// Inference functions by domain, operator and since_version. Filled by the `register_<basename>` function of each file in checker/ops.
class InferRegistry {
 public:
  /// For ai.onnx.
  void add(std::string_view op, VersionRange range, InferFunction function) { add("", op, range, function); }
  void add(std::string_view domain, std::string_view op, VersionRange range, InferFunction function);
  /// Null when none is registered for that version.
  InferFunction find(std::string_view domain, std::string_view op, std::int32_t since_version) const;

 private:
  struct Row {
    VersionRange range;
    InferFunction function;
  };
  std::unordered_map<std::string, std::vector<Row>> rows_;
};

/// All of checker/ops; made once.
const InferRegistry& infer_registry();

}  // namespace onnxkit::checker
