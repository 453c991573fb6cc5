#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker/rule_registry.h"
#include "checker/targets/profile.h"

namespace onnxkit::checker {

/// What a support profile asks about the values of a model.
class TargetFacts {
 public:
  explicit TargetFacts(const RuleContext& context) : context_(context) {}

  /// Null when nothing is known; looks into outer scopes.
  const Type* type_of(const GraphSite& site, ir::ValueId id) const;
  /// "float", "seq(int64)", "map(string,float)"; empty when any part is unknown.
  std::string type_text(const GraphSite& site, ir::ValueId id) const;
  /// An initializer, or computed from constants only.
  bool is_constant(const GraphSite& site, ir::ValueId id);

 private:
  enum class Origin : std::uint8_t { captured, variable, constant };
  const std::vector<Origin>& origins_of(const GraphSite& site);
  bool is_constant_outside(const GraphSite& site, ir::ValueId id);

  const RuleContext& context_;
  std::unordered_map<const ir::Graph*, std::vector<Origin>> origins_;
};

/// How a node stands to one condition of a profile.
struct ConditionResult {
  enum class Answer : std::uint8_t { holds, fails, unknown };
  Answer answer = Answer::holds;
  std::string reason;    ///< fails: what is wrong; unknown: what nobody can tell
  std::string item;      ///< as in Place
  std::string expected;  ///< fails only
  std::string found;     ///< fails only
};

/// Precondition: `schema` is the node's.
ConditionResult evaluate(const TargetCondition& condition, TargetFacts& facts, const GraphSite& site,
                         const ir::Node& node, const spec::OpSchema& schema);

}  // namespace onnxkit::checker
