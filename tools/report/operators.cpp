#include "tools/report/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t line_width = 110;
constexpr std::size_t label_width = 14;

/// "1 7 9, removed in 10".
std::string versions_text(const OpInfo& info) {
  std::string text;
  for (const OpVersion& version : info.versions) {
    if (version.removed)
      text += fmt::format("{}removed in {}", text.empty() ? "" : ", ", version.since_version);
    else
      text += fmt::format("{}{}", text.empty() ? "" : " ", version.since_version);
  }
  return text;
}

/// `text` broken at blanks, its first line after `start`, the others indented by `indent`.
std::string wrapped(std::string_view start, std::string_view text, std::size_t indent) {
  const std::string shown = without_controls(text);
  std::string result(start);
  std::size_t column = start.size();
  bool line_begins = true;
  text = shown;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (!line_begins && column + 1 + end > line_width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!line_begins) {
      result += ' ';
      ++column;
    }
    result += text.substr(0, end);
    column += end;
    line_begins = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + "\n";
}

/// Items below each other, the label beside the first one.
class Block {
 public:
  Block(std::string& out, std::string_view label) : out_(out), label_(label) {}
  void add(std::string_view item) {
    out_ += wrapped(fmt::format("  {:<{}}", label_, label_width - 2), item, label_width + 2);
    label_ = "";
  }

 private:
  std::string& out_;
  std::string_view label_;
};

std::string parameter_text(const OpParameter& parameter) {
  std::string text = parameter.name + ": " + parameter.type;
  if (parameter.optional) text += ", optional";
  if (parameter.variadic)
    text += fmt::format(", {} or more{}", parameter.least, parameter.homogeneous ? "" : ", types may differ");
  return text;
}

std::string attribute_text(const OpAttribute& attribute) {
  std::string text = attribute.name + ": " + attribute.type;
  if (attribute.required) text += ", required";
  if (attribute.default_value) text += " = " + *attribute.default_value;
  if (!attribute.values.empty()) text += fmt::format("; one of {}", fmt::join(attribute.values, ", "));
  return text;
}

std::string range_text(const OpVersion& version) {
  if (!version.until) return fmt::format("from opset {}", version.since_version);
  if (*version.until == version.since_version) return fmt::format("opset {}", version.since_version);
  return fmt::format("opset {} to {}", version.since_version, *version.until);
}

std::string traits_text(const OpVersion& version) {
  std::string text;
  if (!version.added_by.empty()) text += fmt::format(", of {} only", version.added_by);
  if (version.experimental) text += ", experimental";
  if (version.has_function_body) text += ", a function of other operators";
  if (version.non_deterministic) text += ", not deterministic";
  return text;
}

/// The shorter of what runs and what does not.
std::string types_text(const OpTypeSupport& types) {
  const bool few = types.runs.size() <= types.refused.size() + types.unknown.size();
  if (types.runs.empty()) return types.constraint + (types.unknown.empty() ? " refused with all types" : " unknown");
  if (few && types.unknown.empty()) return fmt::format("{} only {}", types.constraint, fmt::join(types.runs, ", "));
  std::string text = types.constraint;
  if (few) text += fmt::format(" {}", fmt::join(types.runs, ", "));
  if (!types.refused.empty()) text += fmt::format("{} not {}", few ? " but" : "", fmt::join(types.refused, ", "));
  if (few) return text + ", others unknown";
  if (types.unknown.empty()) return text;
  return text + fmt::format("{} unknown with {}", types.refused.empty() ? "" : ",", fmt::join(types.unknown, ", "));
}

std::string support_text(const OpSupport& support) {
  std::string text = fmt::format("{} {}: {}", support.target, support.version, support.standing);
  if (!support.reason.empty()) text += fmt::format(" ({})", support.reason);
  for (const OpTypeSupport& types : support.types) text += "; " + types_text(types);
  for (const std::string& condition : support.conditions) text += "; " + condition;
  return text;
}

/// Targets that run it one by one; of the others, those without a reason together.
void add_targets(std::string& text, const OpVersion& version) {
  Block targets(text, "targets");
  for (std::string_view standing : {"runs", "loads", "refused", "unknown"}) {
    std::vector<std::string> silent;
    for (const OpSupport& support : version.targets) {
      if (support.standing != standing) continue;
      const bool says_more = !support.reason.empty() || !support.types.empty() || !support.conditions.empty();
      if (standing == "runs" || says_more)
        targets.add(support_text(support));
      else
        silent.push_back(support.target + " " + support.version);
    }
    if (!silent.empty()) targets.add(fmt::format("{}: {}", standing, fmt::join(silent, ", ")));
  }
}

/// "mapped: torch-export, torchscript", then those with a reason: formats of one reason together.
void add_formats(std::string& text, const std::vector<OpFormat>& formats) {
  Block block(text, "formats");
  std::vector<std::pair<std::string, std::string>> lines;  // what is said, and of which formats
  for (const OpFormat& format : formats) {
    const std::string said = format.reason.empty() ? "" : fmt::format(" ({})", format.reason);
    const auto known = std::ranges::find(lines, format.standing + said, &std::pair<std::string, std::string>::first);
    if (known == lines.end())
      lines.emplace_back(format.standing + said, format.format);
    else
      known->second += ", " + format.format;
  }
  for (const auto& [said, names] : lines) block.add(fmt::format("{}: {}", names, said));
}

std::string version_text(const OpInfo& info, const OpVersion& version, bool first) {
  std::string text = fmt::format("{} {} ({}{})\n", without_controls(info.name), version.since_version,
                                 range_text(version), traits_text(version));
  if (version.removed) return text + "  deprecated: a model of this opset must not use it\n";
  if (version.deprecated) text += "  deprecated: a later version redefines it; onnx.checker refuses this one\n";
  Block inputs(text, "inputs");
  for (const OpParameter& input : version.inputs) inputs.add(parameter_text(input));
  Block outputs(text, "outputs");
  for (const OpParameter& output : version.outputs) outputs.add(parameter_text(output));
  Block attributes(text, "attributes");
  for (const OpAttribute& attribute : version.attributes) attributes.add(attribute_text(attribute));
  Block types(text, "types");
  for (const OpTypeConstraint& constraint : version.types)
    if (constraint.types != std::vector{constraint.name}) types.add(constraint.name + ": " + constraint.summary);
  Block changes(text, "changes");
  for (const OpChange& change : version.changes) changes.add(change.text);
  if (!first && version.changes.empty()) changes.add("no change in the signature");
  add_targets(text, version);
  add_formats(text, version.formats);
  return text;
}

Json parameters_json(const std::vector<OpParameter>& parameters) {
  Json result = Json::array();
  for (const OpParameter& parameter : parameters) {
    Json item = {{"name", parameter.name},
                 {"type", parameter.type},
                 {"optional", parameter.optional},
                 {"variadic", parameter.variadic}};
    if (parameter.variadic) item.update({{"least", parameter.least}, {"homogeneous", parameter.homogeneous}});
    result.push_back(item);
  }
  return result;
}

Json attributes_json(const std::vector<OpAttribute>& attributes) {
  Json result = Json::array();
  for (const OpAttribute& attribute : attributes) {
    Json item = {{"name", attribute.name}, {"type", attribute.type}, {"required", attribute.required}};
    if (attribute.default_value) item["default"] = *attribute.default_value;
    if (!attribute.values.empty()) item["values"] = attribute.values;
    result.push_back(item);
  }
  return result;
}

Json changes_json(const std::vector<OpChange>& changes) {
  Json result = Json::array();
  for (const OpChange& change : changes) {
    Json item = {{"kind", change.kind}};
    if (!change.subject.empty()) item["subject"] = change.subject;
    if (!change.before.empty()) item["before"] = change.before;
    if (!change.after.empty()) item["after"] = change.after;
    item["text"] = change.text;
    result.push_back(item);
  }
  return result;
}

Json targets_json(const std::vector<OpSupport>& targets) {
  Json result = Json::array();
  for (const OpSupport& support : targets) {
    Json item = {{"target", support.target}, {"version", support.version}, {"standing", support.standing}};
    if (!support.reason.empty()) item["reason"] = support.reason;
    if (!support.conditions.empty()) item["conditions"] = support.conditions;
    for (const OpTypeSupport& types : support.types)
      item["types"][types.constraint] = {{"runs", types.runs}, {"refused", types.refused}, {"unknown", types.unknown}};
    result.push_back(item);
  }
  return result;
}

Json formats_json(const std::vector<OpFormat>& formats) {
  Json result = Json::array();
  for (const OpFormat& format : formats) {
    Json item = {{"format", format.format}, {"standing", format.standing}};
    if (!format.reason.empty()) item["reason"] = format.reason;
    result.push_back(item);
  }
  return result;
}

Json version_json(const OpVersion& version) {
  Json types = Json::object();
  for (const OpTypeConstraint& constraint : version.types) types[constraint.name] = constraint.types;
  Json result = {{"since_version", version.since_version},
                 {"until", version.until ? Json(*version.until) : Json()},
                 {"deprecated", version.deprecated},
                 {"removed", version.removed},
                 {"experimental", version.experimental},
                 {"has_function_body", version.has_function_body},
                 {"non_deterministic", version.non_deterministic},
                 {"inputs", parameters_json(version.inputs)},
                 {"outputs", parameters_json(version.outputs)},
                 {"attributes", attributes_json(version.attributes)},
                 {"types", types},
                 {"changes", changes_json(version.changes)},
                 {"targets", targets_json(version.targets)},
                 {"formats", formats_json(version.formats)}};
  if (!version.added_by.empty()) result["added_by"] = version.added_by;
  return result;
}

}  // namespace

std::string operator_table(const OpList& list) {
  std::size_t versions = 0, width = 0;
  for (const OpInfo& info : list.operators) {
    versions += info.versions.size();
    width = std::max(width, without_controls(info.name).size());
  }
  std::string text;
  for (const OpDomain& domain : list.domains) {
    const auto mine = [&](const OpInfo& info) { return info.domain == domain.name; };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(list.operators, mine));
    text += fmt::format("{}, opset {}: {}\n", without_controls(domain.name), domain.newest_opset,
                        counted(count, "operator"));
    for (const OpInfo& info : list.operators)
      if (mine(info)) text += fmt::format("  {:<{}}  {}\n", without_controls(info.name), width, versions_text(info));
    text += "\n";
  }
  return text + fmt::format("{}, {} (ONNX {})\n", counted(list.operators.size(), "operator"),
                            counted(versions, "version"), onnx_release());
}

std::string operator_details(const OpInfo& info) {
  std::string text = fmt::format("{} of {}: {} {}\n", without_controls(info.name), without_controls(info.domain),
                                 info.versions.size() == 1 ? "version" : "versions", versions_text(info));
  for (const OpVersion& version : info.versions)
    text += "\n" + version_text(info, version, &version == &info.versions.front());
  return text;
}

std::string foreign_operator_details(const ForeignOp& op) {
  std::string text = fmt::format("{}: an operator of files that are read\n", without_controls(op.name));
  add_formats(text, op.formats);
  return text;
}

std::string operators_json(const OpList& list) {
  Json domains = Json::array(), operators = Json::array();
  for (const OpDomain& domain : list.domains)
    domains.push_back({{"name", domain.name}, {"newest_opset", domain.newest_opset}, {"official", domain.official}});
  for (const OpInfo& info : list.operators) {
    Json versions = Json::array();
    for (const OpVersion& version : info.versions) versions.push_back(version_json(version));
    operators.push_back({{"domain", info.domain}, {"name", info.name}, {"versions", versions}});
  }
  Json foreign = Json::array();
  for (const ForeignOp& op : list.foreign)
    foreign.push_back({{"name", op.name}, {"formats", formats_json(op.formats)}});
  return json_text({{"format", "onnxkit-ops"},
                    {"format_version", 1},
                    {"onnx_release", onnx_release()},
                    {"domains", domains},
                    {"operators", operators},
                    {"foreign", foreign}});
}

}  // namespace onnxkit::tools
