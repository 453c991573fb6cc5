#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker/rule_registry.h"
#include "checker/targets/profile.h"

namespace onnxkit::checker {

/// What a support profile asks about the values of a model.
class TargetInfo {
 public:
  explicit TargetInfo(const RuleContext& context) : context_(context) {}

  /// Null when nothing is known; looks into outer scopes.
  const Type* type_of(const ir::GraphScope& scope, ir::ValueId id) const;
  /// "float", "seq(int64)", "map(string,float)"; empty when any part is unknown.
  std::string type_text(const ir::GraphScope& scope, ir::ValueId id) const;
  /// An initializer, or computed from constants only.
  bool is_constant(const ir::GraphScope& scope, ir::ValueId id);
  /// An initializer or the output of a Constant, here or in an outer graph.
  bool is_initializer(const ir::GraphScope& scope, ir::ValueId id);
  /// The graph itself writes, stores or takes the value; it does not come from outside.
  bool is_local(const ir::GraphScope& scope, ir::ValueId id);
  /// An input or an output of the model.
  static bool is_port(const ir::GraphScope& scope, ir::ValueId id, bool is_input);
  /// The elements of a small constant of integers or booleans.
  std::optional<std::vector<std::int64_t>> elements_of(const ir::GraphScope& scope, ir::ValueId id) const;
  /// The node of the same graph that writes the value, or null.
  static const ir::Node* writer_of(const ir::GraphScope& scope, ir::ValueId id);
  /// The rank of an output of a graph that is no function's.
  std::optional<std::size_t> output_rank(const ir::Graph& graph, std::size_t index) const;

 private:
  /// `stored`: an initializer or a Constant; `constant`: computed from such.
  enum class Origin : std::uint8_t { captured, variable, constant, stored };
  const std::vector<Origin>& origins_of(const ir::GraphScope& scope);
  bool is_constant_outside(const ir::GraphScope& scope, ir::ValueId id);

  const RuleContext& context_;
  std::unordered_map<const ir::Graph*, std::vector<Origin>> origins_;
};

/// How a node stands to one condition of a profile.
struct ConditionResult {
  enum class Answer : std::uint8_t { holds, fails, unknown };
  Answer answer = Answer::holds;
  std::string reason;    ///< fails: what is wrong; unknown: what nobody can tell
  std::string item;      ///< as in Location
  std::string expected;  ///< fails only
  std::string found;     ///< fails only
};

/// Precondition: `schema` is the node's.
ConditionResult evaluate(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                         const ir::Node& node, const spec::OpSchema& schema);

}  // namespace onnxkit::checker
