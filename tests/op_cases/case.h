#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace onnxkit::op_cases {

/// A tensor or other value as a case file states it; see README.md for the keys.
struct ValueSpec {
  std::string name;
  bool omitted = false;
  YAML::Node node;
};

/// A finding that a case expects. `at` is empty when the case does not say where.
struct ExpectedFinding {
  std::string code;
  std::string at;
};

/// One case of a file in testdata/ops.
struct Case {
  std::string name;
  std::string domain;
  std::string op;
  std::int64_t first_opset = 1;
  std::int64_t last_opset = std::numeric_limits<std::int64_t>::max();
  /// A whole model in the text syntax instead of attributes and inputs; OPSET in it stands for each opset.
  std::string model;
  YAML::Node attributes;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  bool checks_outputs = false;
  std::vector<ExpectedFinding> finds;
  /// Error code that running the case must end with; empty when it must succeed.
  std::string fails;
  /// TYPE in the model and in the types of values stands for every element type that the operator's first input may have.
  bool every_type = false;
  /// Sums of float64 keep what adding one number after the other rounds off, which not every backend does.
  bool has_exact_sums = false;
  double relative = 1e-5, absolute = 1e-7;  ///< how far outputs may be from `values` when the case is run
};

/// Throws YAML::Exception with the place of a node.
[[noreturn]] void fail(const YAML::Node& at, const std::string& message);

/// The case with TYPE spelt out.
Case with_type(const Case& c, std::string_view type);

/// All cases of a file. Throws YAML::Exception when the file is not in the form that README.md describes.
std::vector<Case> read_cases(const std::filesystem::path& file);

}  // namespace onnxkit::op_cases
