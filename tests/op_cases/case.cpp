#include "tests/op_cases/case.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

namespace onnxkit::op_cases {

void fail(const YAML::Node& at, const std::string& message) { throw YAML::Exception(at.Mark(), message); }

namespace {

void allow_keys(const YAML::Node& map, std::initializer_list<std::string_view> allowed) {
  for (const auto& entry : map) {
    const auto key = entry.first.as<std::string>();
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      fail(entry.first, fmt::format("unknown key \"{}\"", key));
    }
  }
}

std::int64_t parse_opset(std::string_view text, const YAML::Node& at) {
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) fail(at, "an opset is \"13\", \"13..\" or \"7..12\"");
  return number;
}

void read_opsets(const YAML::Node& node, Case& c) {
  if (!node) return;
  const auto text = node.as<std::string>();
  const std::size_t dots = text.find("..");
  c.first_opset = parse_opset(text.substr(0, dots), node);
  if (dots == std::string::npos) {
    c.last_opset = c.first_opset;
  } else if (dots + 2 < text.size()) {
    c.last_opset = parse_opset(text.substr(dots + 2), node);
  }
}

/// A mapping from names to values, in the order of the operator's parameters; `~` omits one.
std::vector<ValueSpec> read_values(const YAML::Node& node) {
  std::vector<ValueSpec> values;
  if (!node) return values;
  if (!node.IsMap()) fail(node, "inputs and outputs are a mapping from names to types");
  for (const auto& entry : node) {
    ValueSpec value{.name = entry.first.as<std::string>(), .omitted = entry.second.IsNull(), .node = entry.second};
    if (entry.second.IsMap()) allow_keys(entry.second, {"type", "shape", "values", "constant", "shape_of", "known"});
    values.push_back(std::move(value));
  }
  return values;
}

ExpectedFinding read_finding(const YAML::Node& node) {
  if (node.IsScalar()) return {.code = node.as<std::string>(), .at = {}};
  allow_keys(node, {"code", "at"});
  return {.code = node["code"].as<std::string>(), .at = node["at"] ? node["at"].as<std::string>() : std::string()};
}

Case read_case(const YAML::Node& node, const YAML::Node& file) {
  allow_keys(node, {"name", "op", "opset", "attrs", "inputs", "outputs", "finds", "model", "source", "fails", "rtol",
                    "atol", "types", "exact_sums"});
  const YAML::Node op = node["op"] ? node["op"] : file["op"];
  if (!op) fail(node, "neither the case nor the file names an op");
  Case c;
  c.name = node["name"].as<std::string>();
  c.op = op.as<std::string>();
  if (file["domain"]) c.domain = file["domain"].as<std::string>();
  read_opsets(node["opset"], c);
  if (node["model"]) c.model = node["model"].as<std::string>();
  if (!c.model.empty() && node["attrs"]) fail(node, "a model has its own attributes");
  if (node["attrs"]) c.attributes.reset(node["attrs"]);
  c.inputs = read_values(node["inputs"]);
  c.outputs = read_values(node["outputs"]);
  c.checks_outputs = node["outputs"].IsDefined();
  if (const YAML::Node finds = node["finds"]) {
    if (finds.IsSequence()) {
      for (const YAML::Node& one : finds) c.finds.push_back(read_finding(one));
    } else {
      c.finds.push_back(read_finding(finds));
    }
  }
  if (node["types"]) {
    if (node["types"].as<std::string>() != "all") fail(node, "types can be \"all\" only");
    c.every_type = true;
  }
  if (node["exact_sums"]) c.has_exact_sums = node["exact_sums"].as<bool>();
  if (node["fails"]) c.fails = node["fails"].as<std::string>();
  if (node["rtol"]) c.relative = node["rtol"].as<double>();
  if (node["atol"]) c.absolute = node["atol"].as<double>();
  if (!c.checks_outputs && c.finds.empty() && c.fails.empty()) fail(node, "a case needs outputs, finds or fails");
  return c;
}

}  // namespace

Case with_type(const Case& c, std::string_view type) {
  constexpr std::string_view placeholder = "TYPE";
  Case typed = c;
  for (std::size_t at = typed.model.find(placeholder); at != std::string::npos; at = typed.model.find(placeholder))
    typed.model.replace(at, placeholder.size(), type);
  for (auto* values : {&typed.inputs, &typed.outputs}) {
    for (ValueSpec& value : *values) {
      if (!value.node.IsMap() || !value.node["type"] || value.node["type"].as<std::string>() != placeholder) continue;
      value.node.reset(YAML::Clone(value.node));  // an assignment would change the copies, too
      value.node["type"] = std::string(type);
    }
  }
  return typed;
}

std::vector<Case> read_cases(const std::filesystem::path& path) {
  const YAML::Node file = YAML::LoadFile(path.string());
  allow_keys(file, {"op", "domain", "cases"});
  std::vector<Case> cases;
  for (const YAML::Node& node : file["cases"]) cases.push_back(read_case(node, file));
  return cases;
}

}  // namespace onnxkit::op_cases
