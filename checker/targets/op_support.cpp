#include "checker/targets/op_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace onnxkit::checker {
namespace {

std::string_view word(Standing standing) {
  switch (standing) {
    case Standing::runs:
      return "runs";
    case Standing::loads:
      return "loads";
    case Standing::refused:
      return "refused";
    case Standing::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string item_text(const TargetCondition& condition) {
  switch (condition.item) {
    case TargetCondition::Item::node:
      return "";
    case TargetCondition::Item::attribute:
      return "attribute " + condition.name;
    case TargetCondition::Item::input:
      return "input " + condition.name;
    case TargetCondition::Item::output:
      return "output " + condition.name;
  }
  return "";
}

std::string values_text(const TargetCondition& condition) {
  std::vector<std::string_view> values;
  for (const auto& value : condition.values) values.push_back(value.text);
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string rank_text(const TargetCondition& condition) {
  if (condition.max_rank == std::numeric_limits<std::int64_t>::max())
    return fmt::format("of rank {} or more", condition.min_rank);
  if (condition.min_rank == condition.max_rank) return fmt::format("of rank {}", condition.min_rank);
  return fmt::format("of rank {} to {}", condition.min_rank, condition.max_rank);
}

std::string demand_text(const TargetCondition& condition) {
  const std::string_view no = condition.wanted ? "" : "not ";
  switch (condition.demand) {
    case TargetCondition::Demand::in:
      return (condition.values.size() == 1 ? "" : "one of ") + values_text(condition);
    case TargetCondition::Demand::not_in:
      return "not " + values_text(condition);
    case TargetCondition::Demand::present:
      return condition.wanted ? "given" : "left out";
    case TargetCondition::Demand::constant:
      return fmt::format("{}constant", no);
    case TargetCondition::Demand::initializer:
      return fmt::format("{}an initializer", no);
    case TargetCondition::Demand::is_static:
      return "of a fixed shape";
    case TargetCondition::Demand::nonempty:
      return "without an axis of size 0";
    case TargetCondition::Demand::named:
      return "not left out by an empty name";
    case TargetCondition::Demand::copies:
      return fmt::format("without a 0 beyond the axes of {}", condition.copied);
    case TargetCondition::Demand::local:
      return "of the same graph";
    case TargetCondition::Demand::port:
      return fmt::format("{}of the model itself", no);
    case TargetCondition::Demand::equal_ranks:
      return "of one rank in both branches";
    case TargetCondition::Demand::not_from:
      return fmt::format("not an output of {}", fmt::join(condition.operators, ", "));
    case TargetCondition::Demand::rank:
      return rank_text(condition);
    case TargetCondition::Demand::not_rank:
      return fmt::format("not of rank {}", fmt::join(condition.ranks, ", "));
    case TargetCondition::Demand::note:
      return condition.note;
  }
  return "";
}

std::string condition_text(const TargetCondition& condition) {
  const std::string item = item_text(condition);
  const std::string_view gap = item.empty() ? "" : condition.demand == TargetCondition::Demand::note ? ": " : " ";
  std::string text = fmt::format("{}{}{}", item, gap, demand_text(condition));
  for (std::size_t i = 0; i < condition.only_if.size(); ++i)
    text += fmt::format(" {} {}", i == 0 ? "where" : "and", condition_text(condition.only_if[i]));
  return text;
}

/// As profiles write types: "float" for tensor(float), "seq(float)" for seq(tensor(float)).
std::string profile_type(std::string text) {
  constexpr std::string_view wrapper = "tensor(";
  const auto at = text.find(wrapper);
  if (at == std::string::npos || text.starts_with("sparse_")) return text;
  text.erase(text.find(')', at), 1);
  text.erase(at, wrapper.size());
  return text;
}

bool lists(const std::vector<std::string>& types, const std::string& type) {
  return std::ranges::find(types, type) != types.end();
}

Standing standing_of(const TargetProfile& profile, const TypeStanding& types, const std::string& type) {
  if (lists(types.runs, type)) return Standing::runs;
  if (lists(types.loads, type)) return Standing::unknown;
  if (lists(types.refused, type)) return Standing::refused;
  const auto narrowed = profile.limits.narrowed.find(type);
  if (narrowed != profile.limits.narrowed.end() && lists(types.runs, narrowed->second)) return Standing::runs;
  return profile.measured ? Standing::unknown : Standing::refused;
}

std::vector<OpTypeSupport> restricted_types(const TargetProfile& profile, const TargetEntry& entry,
                                            const spec::OpSchema& schema) {
  std::vector<OpTypeSupport> result;
  for (const spec::TypeConstraint& constraint : schema.constraints) {
    const TypeStanding* standing = entry.types_of(constraint.name);
    if (!standing) continue;
    OpTypeSupport types{std::string(constraint.name), {}, {}, {}};
    for (const std::string& spelling : type_strings(constraint.allowed)) {
      const std::string type = profile_type(spelling);
      const Standing is = standing_of(profile, *standing, type);
      (is == Standing::runs ? types.runs : is == Standing::refused ? types.refused : types.unknown).push_back(type);
    }
    if (!types.refused.empty() || !types.unknown.empty()) result.push_back(std::move(types));
  }
  return result;
}

/// Why no model with the version loads, whatever the operator; empty when one can.
std::string opset_obstacle(const TargetProfile& profile, const spec::OpSchema& schema,
                           std::optional<std::int64_t> until) {
  const auto limit = profile.limits.opset.find(schema.domain);
  if (limit == profile.limits.opset.end()) return "";
  const auto [oldest, newest] = limit->second;
  if (schema.since_version > newest) return fmt::format("its newest opset is {}", newest);
  if (until && *until < oldest) return fmt::format("its oldest opset is {}", oldest);
  return "";
}

/// An item that the version lacks fulfils every demand but to be given.
bool applies(const TargetCondition& condition, const spec::OpSchema& schema) {
  if (condition.demand == TargetCondition::Demand::present && condition.wanted) return true;
  const auto among = [&](std::span<const spec::FormalParameter> parameters) {
    return std::ranges::find(parameters, condition.name, &spec::FormalParameter::name) != parameters.end();
  };
  switch (condition.item) {
    case TargetCondition::Item::node:
      return true;
    case TargetCondition::Item::attribute:
      return schema.find_attribute(condition.name) != nullptr;
    case TargetCondition::Item::input:
      return among(schema.inputs);
    case TargetCondition::Item::output:
      return among(schema.outputs);
  }
  return true;
}

OpSupport support_by(const TargetProfile& profile, const spec::OpSchema& schema, std::optional<std::int64_t> until) {
  OpSupport support{
      .target = profile.name, .version = profile.version, .standing = "", .reason = "", .conditions = {}, .types = {}};
  if (auto obstacle = opset_obstacle(profile, schema, until); !obstacle.empty()) {
    support.standing = word(Standing::refused);
    support.reason = std::move(obstacle);
    return support;
  }
  const TargetEntry* entry = profile.find(schema.domain, schema.name, schema.since_version);
  support.standing = word(entry ? entry->status : profile.unlisted(schema.domain));
  if (!entry) return support;
  if (entry->status != Standing::runs) {
    support.reason = entry->why;
    return support;
  }
  for (const TargetCondition& condition : entry->when)
    if (applies(condition, schema)) support.conditions.push_back(condition_text(condition));
  support.types = restricted_types(profile, *entry, schema);
  return support;
}

}  // namespace

std::vector<OpSupport> support_of(std::span<const std::shared_ptr<const TargetProfile>> profiles,
                                  const spec::OpSchema& schema, std::optional<std::int64_t> until) {
  std::vector<OpSupport> result;
  for (const auto& profile : profiles) result.push_back(support_by(*profile, schema, until));
  return result;
}

}  // namespace onnxkit::checker
