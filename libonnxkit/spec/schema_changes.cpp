#include "libonnxkit/spec/schema_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace onnxkit::spec {
namespace {

enum class Side { input, output };

std::string_view word(Side side) { return side == Side::input ? "input" : "output"; }

std::string subject(Side side, std::string_view name) { return fmt::format("{} {}", word(side), name); }
std::string subject(const AttributeSchema& attribute) { return fmt::format("attribute {}", attribute.name); }

/// An input or output that both versions have, under whatever name.
struct Pair {
  Side side;
  const FormalParameter* before;
  const FormalParameter* after;
};

const FormalParameter* parameter_named(std::span<const FormalParameter> parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &FormalParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

/// "inputs X, W and output Y".
std::string all_of(std::span<const Pair> pairs) {
  std::string result;
  for (Side side : {Side::input, Side::output}) {
    std::vector<std::string_view> names;
    for (const Pair& pair : pairs)
      if (pair.side == side) names.push_back(pair.after->name);
    if (names.empty()) continue;
    result += fmt::format("{}{}{} {}", result.empty() ? "" : " and ", word(side), names.size() > 1 ? "s" : "",
                          fmt::join(names, ", "));
  }
  return result;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

class Comparison {
 public:
  Comparison(const OpSchema& before, const OpSchema& after) : before_(before), after_(after) {}

  std::vector<SchemaChange> run() {
    if (after_.deprecated != before_.deprecated)
      add(after_.deprecated ? ChangeKind::deprecated : ChangeKind::restored, "");
    compare_parameters(Side::input, before_.inputs, after_.inputs);
    compare_parameters(Side::output, before_.outputs, after_.outputs);
    compare_attributes();
    compare_types();
    compare_ties();
    if (after_.has_function_body != before_.has_function_body)
      add(after_.has_function_body ? ChangeKind::body_added : ChangeKind::body_removed, "");
    return std::move(changes_);
  }

 private:
  void add(ChangeKind kind, std::string of, std::string before = "", std::string after = "") {
    changes_.push_back({kind, std::move(of), std::move(before), std::move(after), {}});
  }

  void compare_parameters(Side side, std::span<const FormalParameter> before, std::span<const FormalParameter> after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const FormalParameter* same = parameter_named(after, before[i].name);
      // A name that only one version has, where the other has one that only it has: the same parameter renamed.
      if (!same && i < after.size() && !parameter_named(before, after[i].name)) same = &after[i];
      if (same)
        pairs_.push_back({side, &before[i], same});
      else if (!became_attribute(side, before[i]))
        add(ChangeKind::removed, subject(side, before[i].name));
    }
    for (const FormalParameter& parameter : after) {
      const auto found = std::ranges::find(pairs_, &parameter, &Pair::after);
      if (found != pairs_.end())
        compare_pair(*found);
      else if (side == Side::output || !became_input(parameter))
        add(ChangeKind::added, subject(side, parameter.name), "", parameter.arity == Arity::optional ? "optional" : "");
    }
  }

  void compare_pair(const Pair& pair) {
    const FormalParameter &before = *pair.before, &after = *pair.after;
    if (before.name != after.name)
      add(ChangeKind::renamed, subject(pair.side, before.name), std::string(before.name), std::string(after.name));
    if (before.arity == Arity::variadic && after.arity == Arity::variadic && before.min_arity != after.min_arity)
      add(ChangeKind::count_changed, subject(pair.side, after.name), std::to_string(before.min_arity),
          std::to_string(after.min_arity));
    if (before.arity == after.arity) return;
    const auto kind = after.arity == Arity::variadic    ? ChangeKind::became_variadic
                      : before.arity == Arity::variadic ? ChangeKind::became_single
                      : after.arity == Arity::optional  ? ChangeKind::became_optional
                                                        : ChangeKind::became_required;
    add(kind, subject(pair.side, after.name));
  }

  bool became_input(const FormalParameter& parameter) {
    for (const AttributeSchema& attribute : before_.attributes)
      if (same_word(attribute.name, parameter.name) && !after_.find_attribute(attribute.name)) {
        moved_attributes_.push_back(attribute.name);
        add(ChangeKind::became_input, subject(attribute), "", parameter.arity == Arity::optional ? "optional" : "");
        return true;
      }
    return false;
  }

  bool became_attribute(Side side, const FormalParameter& parameter) {
    if (side == Side::output) return false;
    for (const AttributeSchema& attribute : after_.attributes)
      if (same_word(attribute.name, parameter.name) && !before_.find_attribute(attribute.name)) {
        moved_attributes_.push_back(attribute.name);
        add(ChangeKind::became_attribute, subject(side, parameter.name), "", attribute.required ? "required" : "");
        return true;
      }
    return false;
  }

  void compare_attributes() {
    const auto moved = [this](std::string_view name) {
      return std::ranges::find(moved_attributes_, name) != moved_attributes_.end();
    };
    for (const AttributeSchema& old : before_.attributes)
      if (!after_.find_attribute(old.name) && !moved(old.name)) add(ChangeKind::removed, subject(old));
    for (const AttributeSchema& now : after_.attributes) {
      if (const AttributeSchema* old = before_.find_attribute(now.name))
        compare_attribute(*old, now);
      else if (!moved(now.name))
        add(ChangeKind::added, subject(now), "",
            now.required      ? "required"
            : now.has_default ? "default " + default_text(now)
                              : "");
    }
  }

  void compare_attribute(const AttributeSchema& before, const AttributeSchema& after) {
    if (before.type != after.type)
      add(ChangeKind::type_changed, subject(after), std::string(name_of(before.type)),
          std::string(name_of(after.type)));
    if (before.required != after.required)
      add(after.required ? ChangeKind::became_required : ChangeKind::became_optional, subject(after));
    const std::string old_default = default_text(before), new_default = default_text(after);
    if (old_default != new_default && !before.required && !after.required)
      add(ChangeKind::default_changed, subject(after), old_default, new_default);
    if (before.type != after.type || std::ranges::equal(before.allowed_strings, after.allowed_strings)) return;
    add(ChangeKind::values_changed, subject(after), missing(before, after), missing(after, before));
  }

  /// Values of `a` that `b` lacks.
  static std::string missing(const AttributeSchema& a, const AttributeSchema& b) {
    std::vector<std::string_view> values;
    for (std::string_view value : a.allowed_strings)
      if (std::ranges::find(b.allowed_strings, value) == b.allowed_strings.end()) values.push_back(value);
    return fmt::format("{}", fmt::join(values, ", "));
  }

  /// Inputs and outputs that gain or lose the same types are told together.
  void compare_types() {
    struct Difference {
      TypeSet added, removed;
      std::vector<Pair> pairs;
    };
    std::vector<Difference> differences;
    for (const Pair& pair : pairs_) {
      const TypeSet &old = before_.types_of(*pair.before), &now = after_.types_of(*pair.after);
      const TypeSet added = without(now, old), removed = without(old, now);
      if (added.empty() && removed.empty()) continue;
      const auto same = [&](const Difference& d) { return d.added == added && d.removed == removed; };
      auto found = std::ranges::find_if(differences, same);
      if (found == differences.end()) found = differences.insert(found, {added, removed, {}});
      found->pairs.push_back(pair);
    }
    for (const auto& [added, removed, pairs] : differences) {
      if (!added.empty())
        changes_.push_back({.kind = ChangeKind::types_added, .subject = all_of(pairs), .types = added});
      if (!removed.empty())
        changes_.push_back({.kind = ChangeKind::types_removed, .subject = all_of(pairs), .types = removed});
    }
  }

  /// The first of the pairs before `index` whose type the parameter shares through a constraint.
  template <class Member>
  std::optional<std::size_t> tied_to(const OpSchema& schema, std::size_t index, Member member) const {
    const FormalParameter& parameter = *(pairs_[index].*member);
    if (type_strings(schema.types_of(parameter)).size() < 2) return {};
    for (std::size_t i = 0; i < index; ++i)
      if ((pairs_[i].*member)->constraint == parameter.constraint) return i;
    return {};
  }

  void compare_ties() {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto old = tied_to(before_, i, &Pair::before);
      const auto now = tied_to(after_, i, &Pair::after);
      const auto name = [this](std::size_t k) { return subject(pairs_[k].side, pairs_[k].after->name); };
      const bool one_type = type_strings(after_.types_of(*pairs_[i].after)).size() < 2;
      if (old && !now && !one_type) add(ChangeKind::type_freed, name(i), name(*old));
      const bool was_one_type = type_strings(before_.types_of(*pairs_[i].before)).size() < 2;
      if (now && !old && !was_one_type) add(ChangeKind::type_tied, name(i), "", name(*now));
    }
  }

  const OpSchema& before_;
  const OpSchema& after_;
  std::vector<Pair> pairs_;
  std::vector<std::string_view> moved_attributes_;
  std::vector<SchemaChange> changes_;
};

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

std::string values_sentence(const SchemaChange& change) {
  if (change.before.empty()) return fmt::format("{} may also be {}", change.subject, change.after);
  if (change.after.empty()) return fmt::format("{} may no longer be {}", change.subject, change.before);
  return fmt::format("{} may also be {}, and no longer {}", change.subject, change.after, change.before);
}

std::string default_sentence(const SchemaChange& change) {
  if (change.before.empty()) return fmt::format("{} has the default {}", change.subject, change.after);
  if (change.after.empty()) return fmt::format("{} no longer has the default {}", change.subject, change.before);
  return fmt::format("{}: the default changed from {} to {}", change.subject, change.before, change.after);
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
  constexpr std::array<std::string_view, 21> names = {
      "deprecated",      "restored",        "added",          "removed",       "renamed",       "became-optional",
      "became-required", "became-variadic", "became-single",  "count-changed", "became-input",  "became-attribute",
      "type-changed",    "default-changed", "values-changed", "types-added",   "types-removed", "type-tied",
      "type-freed",      "body-added",      "body-removed"};
  return names[static_cast<std::size_t>(kind)];
}

std::string describe(const SchemaChange& change) {
  const std::string& of = change.subject;
  switch (change.kind) {
    case ChangeKind::deprecated:
      return "deprecated: no model of this opset may use it";
    case ChangeKind::restored:
      return "no longer deprecated";
    case ChangeKind::added:
      return of + " added" + in_brackets(change.after);
    case ChangeKind::removed:
      return of + " removed";
    case ChangeKind::renamed:
      return fmt::format("{} renamed to {}", of, change.after);
    case ChangeKind::became_optional:
      return of + " became optional";
    case ChangeKind::became_required:
      return of + " became required";
    case ChangeKind::became_variadic:
      return of + " takes any number of values";
    case ChangeKind::became_single:
      return of + " takes one value only";
    case ChangeKind::count_changed:
      return fmt::format("{} takes at least {} values instead of {}", of, change.after, change.before);
    case ChangeKind::became_input:
      return of + " became an input" + in_brackets(change.after);
    case ChangeKind::became_attribute:
      return of + " became an attribute" + in_brackets(change.after);
    case ChangeKind::type_changed:
      return fmt::format("{}: the type changed from {} to {}", of, change.before, change.after);
    case ChangeKind::default_changed:
      return default_sentence(change);
    case ChangeKind::values_changed:
      return values_sentence(change);
    case ChangeKind::types_added:
      return fmt::format("{}: also {}", of, describe_by_form(change.types));
    case ChangeKind::types_removed:
      return fmt::format("{}: no longer {}", of, describe_by_form(change.types));
    case ChangeKind::type_tied:
      return fmt::format("{} now has the type of {}", of, change.after);
    case ChangeKind::type_freed:
      return fmt::format("{} no longer needs the type of {}", of, change.before);
    case ChangeKind::body_added:
      return "now a function of other operators";
    case ChangeKind::body_removed:
      return "no longer a function of other operators";
  }
  return of;
}

std::vector<SchemaChange> changes_between(const OpSchema& before, const OpSchema& after) {
  return Comparison(before, after).run();
}

}  // namespace onnxkit::spec
