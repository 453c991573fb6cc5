#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/result.h"

namespace onnxkit::checker {

/// What is known of a target and an operator version or element type.
enum class Standing : std::uint8_t {
  runs,
  loads,  ///< accepted when loading, never seen to run
  refused,
  unknown,
};

/// A value that a condition lists: compared as a number with integer and real attributes, as text with strings.
struct ConditionValue {
  std::string text;
  std::optional<double> number;
};

/// One demand on a node; docs/targets.md says what each means.
struct TargetCondition {
  enum class Item : std::uint8_t { node, attribute, input, output };
  enum class Demand : std::uint8_t {
    in,
    not_in,
    present,
    constant,
    initializer,
    is_static,
    nonempty,
    named,
    local,
    port,
    equal_ranks,
    not_from,
    copies,
    rank,
    not_rank,
    note
  };
  Item item = Item::node;
  std::string name;
  Demand demand = Demand::note;
  std::vector<ConditionValue> values;       ///< in, not_in
  bool wanted = true;                       ///< present, constant, initializer
  std::int64_t min_rank = 0, max_rank = 0;  ///< rank
  std::vector<std::int64_t> ranks;          ///< not_rank
  std::vector<std::string> operators;       ///< not_from
  std::string copied;                       ///< copies: the input whose sizes a 0 stands for
  std::string note;
  std::vector<TargetCondition> only_if;  ///< the demand is made of nodes for which all of these hold
};

/// Standing of the element types of one type constraint.
struct TypeStanding {
  std::string constraint;
  std::vector<std::string> runs, loads, refused;
};

struct TargetEntry {
  std::vector<std::int32_t> since;  ///< since-versions of the schema; empty: all
  Standing status = Standing::runs;
  std::string why;
  std::vector<TypeStanding> types;
  std::vector<TargetCondition> when;

  bool covers(std::int32_t since_version) const;
  const TypeStanding* types_of(std::string_view constraint) const;
};

struct TargetLimits {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>>
      opset;  ///< canonical domain -> oldest, newest
  std::optional<std::int64_t> ir_version;
  bool static_shapes = false;
  bool equal_names = false;  ///< sizes of one name are taken to be equal
  bool functions = true;     ///< calls of model-local functions
  bool sparse_initializers = true;
  bool tensor_ports = false;       ///< inputs and outputs of the model are tensors only
  std::vector<std::string> types;  ///< empty: any
  std::map<std::string, std::string, std::less<>> narrowed;
};

/// A support profile: what one version of a target runs.
struct TargetProfile {
  std::string name, about, version, date, source, command;
  bool measured = false;
  bool exhaustive = false;  ///< for the domains in `operators`
  TargetLimits limits;
  /// canonical domain -> operator -> entries
  std::unordered_map<std::string, std::unordered_map<std::string, std::vector<TargetEntry>>> operators;

  /// The entry for one version of an operator, or null when the profile has none; `unlisted` then says what that means.
  const TargetEntry* find(std::string_view domain, std::string_view op, std::int32_t since_version) const;
  /// All entries of an operator, or null.
  const std::vector<TargetEntry>* find_all(std::string_view domain, std::string_view op) const;
  Standing unlisted(std::string_view domain) const;
  /// "onnxruntime 1.31.1"
  std::string label() const { return name + " " + version; }
};

/// The profile that `NAME` or `NAME@VERSION` means. Fails with code unknown-target when there is none of that name or version.
/// Parsed when first asked for and kept, so that a sweep over many models pays once; safe to call from several threads.
Result<std::shared_ptr<const TargetProfile>> load_target(std::string_view name_at_version, const Context& context = {});
/// A profile from YAML text. Fails with code target-profile.
Result<TargetProfile> parse_target(std::string_view yaml, std::string_view source_name);
/// Names of all profiles in the library, sorted.
std::vector<std::string_view> target_names();

}  // namespace onnxkit::checker
