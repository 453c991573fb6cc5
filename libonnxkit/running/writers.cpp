#include "libonnxkit/running/writers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "checker/report.h"
#include "checker/targets/list_operators.h"
#include "checker/targets/profile.h"
#include "converters/opset/engine/registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/exec/temp_folder.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/dim/declare_dims.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::running {
namespace {

using formats::Format;

bool is_target(const Format& format) { return format.write != nullptr && !format.name.empty(); }

/// The format with a writer that a target means: by its own name, or the first of its framework. Null when there is none.
const Format* written_target(std::string_view name) {
  const auto& all = formats::registry().formats();
  const Format* named = formats::registry().find(name);
  if (named && is_target(*named)) return named;
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const Format& format) { return is_target(format) && format.backend == name; });
  return first == all.end() || name.empty() ? nullptr : &*first;
}

/// A format that only tells by writing gets a folder of its own for that.
Result<void> try_write(const Format& format, const ir::Model& model, const SaveOptions& options) {
  if (format.try_write) return format.try_write(model, options);
  auto folder = exec::TempFolder::make();
  if (!folder) return std::move(folder).error();
  SaveReport report;
  return format.write(model, folder->path() / "model", options, report);
}

std::vector<Diagnostic> refusals_of(const ir::Model& model, const std::string& target, const CheckOptions& options) {
  std::vector<Diagnostic> refusals;
  if (!model.graph) return refusals;
  SaveOptions save;
  save.allow_outside_data = options.allow_outside_data;
  save.refusals = &refusals;
  ir::Model sized = ir::clone(model);
  ir::fix_named_dims(sized, options.dims);
  const auto written = try_write(*written_target(target), sized, save);
  if (!written && refusals.empty()) refusals.push_back(written.error().diagnostic);
  for (Diagnostic& refusal : refusals) refusal.notes.insert(refusal.notes.begin(), "target " + target);
  return refusals;
}

/// The error of a name that is no target's also lists the writers.
Error with_written_targets(Error error) {
  Diagnostic& diagnostic = error.diagnostic;
  if (diagnostic.code != "unknown-target" || diagnostic.expected.empty()) return error;
  diagnostic.expected = fmt::format("{}", fmt::join(target_names(), ", "));
  return error;
}

// ---- operators

std::string qualified(const OpInfo& info) {
  return info.domain == "ai.onnx" ? info.name : fmt::format("{}::{}", info.domain, info.name);
}

/// What the opset steps make of one version of an operator on its way to the opset of a writer: why it cannot get there, or what it becomes.
class WayToOpset {
 public:
  WayToOpset(const OpInfo& info, std::int64_t opset)
      : domain_(ir::canonical_domain(info.domain)), info_(info), opset_(opset) {}

  /// Null when it stays an operator of its name.
  const opset::Way* end_of(const OpVersion& version) const {
    if (!domain_.empty()) return nullptr;
    const opset::Way* last = nullptr;
    for (const OpVersion& other : info_.versions) {
      const bool is_down = other.since_version > opset_ && other.since_version <= version.since_version;
      const bool is_up = other.since_version <= opset_ && other.since_version > version.since_version;
      if (!is_down && !is_up) continue;
      const opset::Change* change =
          opset::step_registry().find(domain_, info_.name, static_cast<std::int32_t>(other.since_version));
      if (!change) continue;
      const opset::Way& way = is_down ? change->down : change->up;
      if (way.kind == opset::Way::Kind::refusal) return &way;
      const bool goes = is_down ? other.since_version == info_.versions.front().since_version : other.removed;
      if (goes) last = &way;
    }
    return last;
  }

 private:
  std::string_view domain_;
  const OpInfo& info_;
  std::int64_t opset_;
};

OpFormat written_in(const Format& format, const foreign::WrittenOperators& known, const OpInfo& info,
                    const OpVersion& version) {
  OpFormat said{.format = format.name, .standing = "mapped", .reason = {}};
  const opset::Way* way = WayToOpset(info, known.opset).end_of(version);
  if (way && way->kind == opset::Way::Kind::adapter) {
    said.standing = "composed";
    said.reason = fmt::format("opset {}: {}", known.opset, way->why);
  } else if (way && way->kind == opset::Way::Kind::refusal) {
    said.standing = "refused";
    said.reason = fmt::format("opset {}: {}", known.opset, way->why);
  } else if (!std::binary_search(known.names.begin(), known.names.end(), qualified(info))) {
    said.standing = "refused";
    said.reason = fmt::format("no mapping to {} is known for this operator", known.framework);
  }
  return said;
}

void add_formats(OpInfo& info) {
  for (const Format& format : formats::registry().formats()) {
    if (!format.written_operators) continue;
    const foreign::WrittenOperators known = format.written_operators();
    for (OpVersion& version : info.versions)
      if (!version.removed) version.formats.push_back(written_in(format, known, info, version));
  }
}

/// The operators of frameworks of that name, or of that name with any overload.
std::vector<ForeignOp> foreign_operators(std::string_view name) {
  std::vector<ForeignOp> found;
  for (const Format& format : formats::registry().formats()) {
    if (!format.read_operators) continue;
    for (const foreign::ReadOperator& known : format.read_operators()) {
      if (known.name != name && !known.name.starts_with(std::string(name) + ".")) continue;
      auto at = std::find_if(found.begin(), found.end(), [&](const ForeignOp& op) { return op.name == known.name; });
      if (at == found.end()) at = found.insert(at, ForeignOp{known.name, {}});
      at->formats.push_back({format.name, known.refused.empty() ? "mapped" : "refused", known.refused});
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> target_names() {
  const auto profiles = checker::target_names();
  std::set<std::string, std::less<>> names(profiles.begin(), profiles.end());
  for (const Format& format : formats::registry().formats()) {
    if (is_target(format)) names.insert(format.name);
    if (is_target(format) && !format.backend.empty()) names.insert(format.backend);
  }
  return {names.begin(), names.end()};
}

Result<CheckReport> check(const ir::Model& model, const CheckOptions& options) {
  CheckOptions rest = options;
  std::vector<std::string> written;
  std::erase_if(rest.targets, [&](const std::string& target) {
    if (!written_target(target)) return false;
    written.push_back(target);
    return true;
  });
  const auto refusals = [&] {
    std::vector<Diagnostic> all;
    for (const std::string& target : written)
      for (Diagnostic& refusal : refusals_of(model, target, options)) all.push_back(std::move(refusal));
    return all;
  };
  auto report = checker::check(model, rest, refusals);
  return report ? std::move(report) : Result<CheckReport>(with_written_targets(std::move(report).error()));
}

Result<OpList> list_operators(const OpQuery& query) {
  OpQuery rest = query;
  std::vector<ForeignOp> found;
  std::erase_if(rest.names, [&](const std::string& name) {
    OpQuery one = query;
    one.names = {name};
    one.targets = false;
    if (query.domain || checker::list_operators(one)) return false;
    std::vector<ForeignOp> more = foreign_operators(name);
    found.insert(found.end(), more.begin(), more.end());
    return !more.empty();
  });
  OpList only_foreign;
  const bool has_others = query.names.empty() || !rest.names.empty();
  auto list = has_others ? checker::list_operators(rest) : Result<OpList>(std::move(only_foreign));
  if (!list) return list;
  list->foreign = std::move(found);
  if (query.targets)
    for (OpInfo& info : list->operators) add_formats(info);
  return list;
}

}  // namespace onnxkit::running
