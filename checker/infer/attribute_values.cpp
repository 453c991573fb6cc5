#include "checker/infer/attribute_values.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/text/nearest.h"

namespace onnxkit::checker {

std::string_view attribute_type_name(std::int32_t type) {
  constexpr std::string_view names[] = {"nothing",        "float", "int",     "string",  "tensor", "graph",
                                        "floats",         "ints",  "strings", "tensors", "graphs", "sparse tensor",
                                        "sparse tensors", "type",  "types"};
  return type >= 0 && static_cast<std::size_t>(type) < std::size(names) ? names[type] : "an unknown type";
}

std::int32_t effective_type(const ir::Attribute& attribute) {
  return attribute.type.value_or(attribute_type_of(attribute.payload));
}

const spec::OpSchema* later_version(const spec::OpTable& table, const spec::OpSchema& op,
                                    const std::function<bool(const spec::OpSchema&)>& holds) {
  for (const spec::OpSchema* version : table.versions(op.domain, op.name)) {
    if (version->since_version > op.since_version && !version->deprecated && holds(*version)) return version;
  }
  return nullptr;
}

std::vector<AttributeFault> foreign_strings(const ir::Attribute& attribute, const spec::AttributeSchema& schema,
                                            const spec::OpSchema& op, const spec::OpTable& table) {
  std::vector<AttributeFault> foreign;
  const auto& allowed = schema.allowed_strings;
  if (allowed.empty()) return foreign;
  const auto check = [&](std::string_view value) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string list;
    for (const std::string_view one : allowed) list += fmt::format("{}{}", list.empty() ? "" : ", ", one);
    const spec::OpSchema* later = later_version(table, op, [&](const spec::OpSchema& version) {
      const spec::AttributeSchema* declared = version.find_attribute(schema.name);
      return declared && std::ranges::find(declared->allowed_strings, value) != declared->allowed_strings.end();
    });
    if (later) {
      foreign.push_back({.message = fmt::format("{} is a value of {} from opset {} on only", quote(value), schema.name,
                                                later->since_version),
                         .expected = std::move(list),
                         .found = quote(value),
                         .help = fmt::format("upgrade to opset {}", later->since_version)});
      return;
    }
    const std::string_view close = nearest(value, allowed);
    foreign.push_back({.message = fmt::format("{} is not a valid value of {}", quote(value), schema.name),
                       .expected = std::move(list),
                       .found = quote(value),
                       .help = close.empty() ? std::string() : fmt::format("did you mean {}?", close)});
  };
  if (const auto* one = attribute.as<Text>()) check(one->view());
  if (const auto* many = attribute.as<std::vector<Text>>()) {
    for (const Text& value : *many) check(value.view());
  }
  return foreign;
}

std::optional<AttributeFault> pads_beside_auto_pad(const ir::Node& node, const spec::AttributeBindings* bindings) {
  const ir::Attribute* mode = spec::resolve_attribute(node, "auto_pad", bindings);
  const ir::Attribute* pads = spec::resolve_attribute(node, "pads", bindings);
  if (!mode || !pads || !mode->as<Text>() || *mode->as<Text>() == "NOTSET") return {};
  const auto* sizes = pads->as<std::vector<std::int64_t>>();
  const bool pads_nothing =
      !sizes || std::all_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size == 0; });
  if (pads_nothing) return {};
  return AttributeFault{.message = "pads and auto_pad are both given",
                        .expected = "auto_pad NOTSET, or no pads",
                        .found = quote(mode->as<Text>()->view()),
                        .help = ""};
}

}  // namespace onnxkit::checker
