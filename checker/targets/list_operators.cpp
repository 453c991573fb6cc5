#include "checker/targets/list_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "checker/targets/op_support.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/schema_changes.h"

namespace onnxkit::checker {
namespace {

std::string shown_domain(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

std::vector<OpParameter> parameters_of(const spec::OpSchema& schema, std::span<const spec::FormalParameter> formal) {
  std::vector<OpParameter> result;
  for (const spec::FormalParameter& parameter : formal)
    result.push_back({.name = std::string(parameter.name),
                      .type = std::string(schema.type_name_of(parameter)),
                      .optional = parameter.arity == spec::Arity::optional,
                      .variadic = parameter.arity == spec::Arity::variadic,
                      .least = parameter.arity == spec::Arity::variadic ? parameter.min_arity : 1u,
                      .homogeneous = parameter.homogeneous});
  return result;
}

OpAttribute attribute_of(const spec::AttributeSchema& schema) {
  OpAttribute attribute{.name = std::string(schema.name),
                        .type = std::string(spec::name_of(schema.type)),
                        .required = schema.required,
                        .default_value = {},
                        .values = {schema.allowed_strings.begin(), schema.allowed_strings.end()}};
  if (schema.has_default) attribute.default_value = spec::default_text(schema);
  return attribute;
}

std::vector<OpChange> changes_of(const spec::OpSchema* before, const spec::OpSchema& after) {
  std::vector<OpChange> result;
  if (!before) return result;
  if (!after.meaning_change.empty())
    result.push_back({"meaning-changed", "", "", "", std::string(after.meaning_change)});
  for (const spec::SchemaChange& change : spec::changes_between(*before, after))
    result.push_back(
        {std::string(spec::name_of(change.kind)), change.subject, change.before, change.after, describe(change)});
  return result;
}

OpVersion version_of(const spec::OpSchema& schema, const spec::OpSchema* before, const spec::OpSchema* next) {
  OpVersion version;
  version.since_version = schema.since_version;
  if (next) version.until = next->since_version - 1;
  version.deprecated = schema.deprecated;
  version.experimental = schema.experimental;
  version.added_by = schema.added_by;
  version.has_function_body = schema.has_function_body;
  version.non_deterministic = schema.non_deterministic;
  version.inputs = parameters_of(schema, schema.inputs);
  version.outputs = parameters_of(schema, schema.outputs);
  for (const spec::AttributeSchema& attribute : schema.attributes)
    version.attributes.push_back(attribute_of(attribute));
  for (const spec::TypeConstraint& constraint : schema.constraints)
    version.types.push_back(
        {std::string(constraint.name), type_strings(constraint.allowed), describe_by_form(constraint.allowed)});
  version.changes = changes_of(before, schema);
  return version;
}

using Profiles = std::vector<std::shared_ptr<const TargetProfile>>;

OpInfo info_of(const spec::OpTable& table, const Profiles& profiles, std::string_view domain, std::string_view name) {
  OpInfo info{shown_domain(domain), std::string(name), {}};
  auto versions = table.versions(domain, name);
  if (versions.empty()) versions = table.additions(domain, name);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    info.versions.push_back(version_of(*versions[i], i > 0 ? versions[i - 1] : nullptr,
                                       i + 1 < versions.size() ? versions[i + 1] : nullptr));
    OpVersion& version = info.versions.back();
    version.removed = table.is_removed(*versions[i]);
    if (!version.removed) version.targets = support_of(profiles, *versions[i], version.until);
  }
  return info;
}

Error unknown(ErrorCode code, std::string message, std::string_view word, std::span<const std::string_view> known) {
  Error error = make_error(code, std::move(message));
  const std::string_view close = nearest(word, known);
  if (!close.empty()) error.diagnostic.help = fmt::format("did you mean {}?", close);
  return error;
}

struct OperatorKey {
  std::string_view domain, name;
};

class Selection {
 public:
  Selection(const spec::OpTable& table, const OpQuery& query) : table_(table), query_(query) {}

  Result<std::vector<OperatorKey>> run() {
    if (query_.domain) {
      const auto canonical = ir::canonical_domain(*query_.domain);
      if (!table_.knows_domain(canonical)) return unknown_domain(*query_.domain);
      domains_ = {canonical};
    } else {
      domains_ = table_.domains();
    }
    if (query_.names.empty())
      for (std::string_view domain : domains_) add_all(domain);
    for (const std::string& name : query_.names)
      if (auto added = add(name); !added) return added.error();
    return std::move(keys_);
  }

 private:
  Error unknown_domain(std::string_view domain) const {
    auto known = table_.domains();
    std::ranges::replace(known, std::string_view(), std::string_view("ai.onnx"));
    return unknown("unknown-domain", fmt::format("unknown domain {}", quote(domain)), domain, known);
  }

  void add_all(std::string_view domain) {
    for (std::string_view name : table_.operators(domain)) keys_.push_back({domain, name});
  }

  Result<void> add(std::string_view text) {
    const auto separator = text.rfind("::");
    std::vector<std::string_view> domains = domains_;
    std::string_view name = text;
    if (separator != std::string_view::npos) {
      const auto domain = ir::canonical_domain(text.substr(0, separator));
      if (!table_.knows_domain(domain)) return unknown_domain(domain);
      domains = {domain};
      name = text.substr(separator + 2);
    }
    std::vector<OperatorKey> exact, alike;
    std::set<std::string_view> known;
    for (std::string_view domain : domains)
      for (std::string_view candidate : table_.operators(domain)) {
        known.insert(candidate);
        if (candidate == name) exact.push_back({domain, candidate});
        if (same_word(candidate, name)) alike.push_back({domain, candidate});
      }
    for (std::string_view domain : domains) {
      const auto added = table_.additions(domain, name);
      if (exact.empty() && !added.empty()) exact.push_back({domain, added.front()->name});
    }
    const auto& found = exact.empty() ? alike : exact;
    if (found.empty()) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      return unknown("unknown-operator", fmt::format("unknown operator {}", quote(text)), name, names);
    }
    keys_.insert(keys_.end(), found.begin(), found.end());
    return {};
  }

  const spec::OpTable& table_;
  const OpQuery& query_;
  std::vector<std::string_view> domains_;
  std::vector<OperatorKey> keys_;
};

Result<Profiles> all_profiles(const Context& context) {
  Profiles profiles;
  for (std::string_view name : target_names()) {
    auto profile = load_target(name, context);
    if (!profile) return profile.error();
    profiles.push_back(*profile);
  }
  return profiles;
}

std::vector<OpDomain> domains_of(const std::vector<OpInfo>& operators) {
  std::vector<OpDomain> domains;
  for (const OpInfo& info : operators) {
    auto found = std::ranges::find(domains, info.domain, &OpDomain::name);
    if (found == domains.end())
      found =
          domains.insert(found, {info.domain, spec::newest_opset(info.domain), spec::is_official_domain(info.domain)});
    found->newest_opset = std::max(found->newest_opset, info.versions.back().since_version);
  }
  std::ranges::sort(domains, {}, &OpDomain::name);
  return domains;
}

}  // namespace

Result<OpList> list_operators(const OpQuery& query) {
  const spec::OpTable& table = query.context.table();
  const auto keys = Selection(table, query).run();
  if (!keys) return keys.error();
  const auto profiles = query.targets ? all_profiles(query.context) : Profiles();
  if (!profiles) return profiles.error();
  OpList list;
  for (const OperatorKey& key : *keys) list.operators.push_back(info_of(table, *profiles, key.domain, key.name));
  list.domains = domains_of(list.operators);
  return list;
}

}  // namespace onnxkit::checker
