// opset_completeness [--table]: the registry of opset steps against the spec table.
//
// Each version change of each operator of ai.onnx and ai.onnx.ml has both directions, a first version above 1 a way down, a deprecation a way up, and
// no entry speaks of a version that does not exist. What `StepRegistry::types` says differs in types only. --table prints all steps as Markdown.
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "converters/opset/engine/registry.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/schema_changes.h"

namespace {

using namespace onnxkit;
using opset::Change;
using opset::StepRegistry;
using opset::Way;

constexpr std::array<std::string_view, 2> domains = {"", "ai.onnx.ml"};

/// One version of an operator; `before` is null for its first one.
struct VersionChange {
  std::string op;  ///< with its domain outside ai.onnx
  const spec::OpSchema* before;
  const spec::OpSchema* after;
  const Change* change;
  bool removes;  ///< the operator is gone as of `after`

  std::string versions() const {
    return fmt::format("{} -> {}", before ? std::to_string(before->since_version) : "none", after->since_version);
  }
  bool needs_up() const { return before != nullptr; }
  bool needs_down() const { return !removes; }
  bool has_up() const { return before != nullptr; }
  bool has_down() const { return !removes; }
};

std::vector<VersionChange> all_changes(const spec::OpTable& table, const StepRegistry& registry) {
  std::vector<VersionChange> all;
  for (const std::string_view domain : domains) {
    for (const std::string_view name : table.operators(domain)) {
      const spec::OpSchema* before = nullptr;
      for (const spec::OpSchema* after : table.versions(domain, name)) {
        if (before || after->since_version > 1)
          all.push_back({domain.empty() ? std::string(name) : fmt::format("{}::{}", domain, name), before, after,
                         registry.find(domain, name, after->since_version), table.is_removed(*after)});
        before = after;
      }
    }
  }
  return all;
}

/// What `types` may pass over: a node of either version is judged by its types alone.
bool is_about_types(const spec::SchemaChange& change) {
  using enum spec::ChangeKind;
  switch (change.kind) {
    case types_added:
    case types_removed:
    case renamed:
    case body_added:
    case body_removed:
      return true;
    default:
      return false;
  }
}

class Findings {
 public:
  void add(const std::string& what) {
    fmt::print("{}\n", what);
    ++count_;
  }
  int count() const { return count_; }

 private:
  int count_ = 0;
};

void check_directions(const VersionChange& at, Findings& findings) {
  const auto holds = [](const Change* change, Way Change::*way) {
    return change && (change->*way).kind != Way::Kind::none;
  };
  const auto report_missing = [&](std::string_view direction, Way Change::*way, bool needed, bool possible) {
    if (needed && !holds(at.change, way))
      findings.add(fmt::format("{}: {}: {} missing", at.op, at.versions(), direction));
    if (!possible && holds(at.change, way))
      findings.add(fmt::format("{}: {}: {} cannot happen", at.op, at.versions(), direction));
  };
  report_missing("up", &Change::up, at.needs_up(), at.has_up());
  report_missing("down", &Change::down, at.needs_down(), at.has_down());
}

void check_reasons(const VersionChange& at, Findings& findings) {
  if (!at.change) return;
  for (const Way* way : {&at.change->up, &at.change->down}) {
    if (way->kind != Way::Kind::none && way->why.empty())
      findings.add(fmt::format("{}: {}: no reason given", at.op, at.versions()));
    if (way->kind == Way::Kind::adapter && !way->function)
      findings.add(fmt::format("{}: {}: an adapter without a function", at.op, at.versions()));
  }
}

void check_types_only(const VersionChange& at, Findings& findings) {
  if (!at.change || !at.change->types_only || !at.before) return;
  for (const spec::SchemaChange& change : spec::changes_between(*at.before, *at.after)) {
    if (!is_about_types(change))
      findings.add(fmt::format("{}: {}: said to differ in types only, but {}", at.op, at.versions(), describe(change)));
  }
  if (!at.after->meaning_change.empty())
    findings.add(
        fmt::format("{}: {}: said to differ in types only, but {}", at.op, at.versions(), at.after->meaning_change));
}

void check_entries_exist(const spec::OpTable& table, const StepRegistry& registry, Findings& findings) {
  for (const auto& [key, change] : registry.all()) {
    const auto& [domain, name, version] = key;
    const spec::OpSchema* schema = table.find(domain, name, version);
    if (!schema || schema->since_version != version)
      findings.add(fmt::format("{}{}{}: there is no version {}", domain, domain.empty() ? "" : "::", name, version));
  }
}

// ---- table

std::string cell(const Way& way) {
  constexpr std::array<std::string_view, 4> kinds = {"", "stays: ", "rewritten: ", "refused: "};
  std::string text(kinds[static_cast<std::size_t>(way.kind)]);
  for (const char c : way.why) text += c == '|' ? std::string("\\|") : std::string(1, c);
  return text;
}

void print_table(const std::vector<VersionChange>& all) {
  fmt::print("| Operator | Versions | Up | Down |\n|---|---|---|---|\n");
  const Change nothing;
  for (const VersionChange& at : all) {
    const Change& change = at.change ? *at.change : nothing;
    fmt::print("| {} | {} | {} | {} |\n", at.op, at.versions(), cell(change.up), cell(change.down));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const spec::OpTable table;
  const StepRegistry& registry = opset::step_registry();
  const std::vector<VersionChange> all = all_changes(table, registry);
  if (argc > 1 && std::string_view(argv[1]) == "--table") {
    print_table(all);
    return 0;
  }
  Findings findings;
  for (const VersionChange& at : all) {
    check_directions(at, findings);
    check_reasons(at, findings);
    check_types_only(at, findings);
  }
  check_entries_exist(table, registry, findings);
  fmt::print("{} version changes, {} findings\n", all.size(), findings.count());
  return findings.count() == 0 ? 0 : 1;
}
