#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "converters/opset/engine/step.h"

namespace onnxkit::opset {

/// How a node crosses one version change of its operator in one direction.
struct Way {
  enum class Kind : std::uint8_t {
    none,        ///< nobody has said
    compatible,  ///< the node stays as it is; `why` says for what reason
    adapter,     ///< `function` rewrites it, keeps it, or refuses; `why` says what it does
    refusal,     ///< never possible; `why` says for what reason
  };
  Kind kind = Kind::none;
  std::string why;
  std::function<void(Step&)> function;
};

Way compatible(std::string why);
Way adapt(std::string what, std::function<void(Step&)> function);
Way never(std::string why);

/// Both directions of one version change.
struct Change {
  Way up, down;
  bool types_only = false;  ///< said by StepRegistry::types
};

/// Filled by the `register_<basename>` function of each file in converters/opset/ops. A change is told by the version that brought it, an
/// operator by its name, outside ai.onnx with its domain: "ai.onnx.ml::LabelEncoder".
class StepRegistry {
 public:
  using Names = std::initializer_list<std::string_view>;

  /// Operators that say the same of a version. `up` leads from the version before to `version`, `down` back.
  void change(Names ops, std::int32_t version, const Way& up, const Way& down);
  /// The version only allows more types: a node stays as it is, and going down is refused where its type is not there.
  void types(Names ops, std::initializer_list<std::int32_t> versions);
  /// The first version of an operator: what becomes of it below.
  void introduced(Names ops, std::int32_t version, const Way& down);
  /// The version from which the operator is gone: what takes its location.
  void deprecated(Names ops, std::int32_t version, const Way& up);
  /// What is tried with a node on the way down from `version`, within that version and before any other node changes. Nothing is refused.
  void before(Names ops, std::int32_t version, const Way& attempt);
  /// Null when there is none.
  const Way* find_before(std::string_view domain, std::string_view op, std::int32_t version) const;
  /// Null when no file speaks of it.
  const Change* find(std::string_view domain, std::string_view op, std::int32_t version) const;

  using Key = std::tuple<std::string, std::string, std::int32_t>;  ///< domain, operator, version
  const std::map<Key, Change>& all() const { return changes_; }

 private:
  void change(Names ops, std::int32_t version, const Change& change);

  std::map<Key, Change> changes_;
  std::map<Key, Way> before_;
};

/// All of converters/opset/ops; made once.
const StepRegistry& step_registry();

}  // namespace onnxkit::opset
