// Attributes against the signatures of their operators: known, present when required, of the right type, one of the allowed strings.
#include <algorithm>
#include <unordered_set>

#include <fmt/core.h>

#include "checker/infer/attribute_values.h"
#include "checker/rule_registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

bool is_list(std::int32_t type) { return (type >= 6 && type <= 10) || type == 12 || type == 14; }

void check_states_type(RuleContext& context, const ir::GraphScope& scope, std::size_t n,
                       const ir::Attribute& attribute) {
  if (attribute.type || context.model.ir_version.value_or(0) < 2) return;
  context.error("attribute-type", context.at(scope, n, fmt::format("attribute {}", attribute.name.view())),
                "the attribute does not state its type");
}

void check_form(RuleContext& context, const ir::GraphScope& scope, std::size_t n, const ir::Attribute& attribute) {
  const auto location = [&] { return context.at(scope, n, fmt::format("attribute {}", attribute.name.view())); };
  if (attribute.name.empty()) {
    context.error("attribute-empty", context.at(scope, n), "an attribute has no name");
    return;
  }
  if (!attribute.more_payloads.empty()) {
    context.error("attribute-type", location(), "the attribute holds values of several types", "one value");
    return;
  }
  const std::int32_t held = attribute_type_of(attribute.payload);
  if (held == 0 && !attribute.type && attribute.ref_attr_name.empty()) {
    context.error("attribute-empty", location(), "the attribute has neither type nor value", "a value");
    return;
  }
  if (!attribute.ref_attr_name.empty()) {
    if (held != 0)
      context.error("ref-attribute", location(), "the attribute has both a reference and a value",
                    "exactly one of the two");
    check_states_type(context, scope, n, attribute);
    return;
  }
  if (!attribute.type) return check_states_type(context, scope, n, attribute);
  const bool fits = held == *attribute.type || (held == 0 && is_list(*attribute.type));
  if (!fits) {
    context.error("attribute-type", location(), "the declared type of the attribute differs from its value",
                  std::string(attribute_type_name(*attribute.type)), std::string(attribute_type_name(held)));
  }
}

void check_strings(RuleContext& context, const ir::GraphScope& scope, std::size_t n, const ir::Attribute& attribute,
                   const spec::AttributeSchema& schema, const spec::OpSchema& op) {
  for (const AttributeFault& foreign : foreign_strings(attribute, schema, op, context.table)) {
    context.error("attribute-value", context.at(scope, n, fmt::format("attribute {}", schema.name)), foreign.message,
                  foreign.expected, foreign.found, foreign.help);
  }
}

void report_unknown_attribute(RuleContext& context, Location location, const spec::OpSchema& schema,
                              std::string_view name) {
  const std::string message =
      fmt::format("{} (opset {}) has no attribute {}", schema.name, schema.since_version, quote(name));
  const spec::OpSchema* later =
      later_version(context.table, schema, [&](const spec::OpSchema& version) { return version.find_attribute(name); });
  if (later) {
    context.error("unknown-attribute", std::move(location),
                  fmt::format("{}: opset {} added it", message, later->since_version), {}, {},
                  fmt::format("upgrade to opset {}", later->since_version));
    return;
  }
  std::vector<std::string_view> names;
  for (const spec::AttributeSchema& known : schema.attributes) names.push_back(known.name);
  const std::string_view close = nearest(name, names);
  context.error("unknown-attribute", std::move(location), message, {}, {},
                close.empty() ? std::string() : fmt::format("did you mean {}?", close));
}

void check_against_schema(RuleContext& context, const ir::GraphScope& scope, std::size_t n,
                          const spec::OpSchema& schema) {
  const ir::Node& node = scope.graph->nodes[n];
  for (const ir::Attribute& attribute : node.attributes) {
    if (attribute.name.empty()) continue;
    const spec::AttributeSchema* declared = schema.find_attribute(attribute.name);
    const auto location = [&] { return context.at(scope, n, fmt::format("attribute {}", attribute.name.view())); };
    if (!declared) {
      report_unknown_attribute(context, location(), schema, attribute.name);
      continue;
    }
    const auto expected = static_cast<std::int32_t>(declared->type);
    const std::int32_t found = effective_type(attribute);
    if (found == 0) continue;
    if (found != expected) {
      context.error("attribute-type", location(),
                    fmt::format("attribute {} of {} has the wrong type", quote(attribute.name), schema.name),
                    std::string(attribute_type_name(expected)), std::string(attribute_type_name(found)));
      continue;
    }
    check_strings(context, scope, n, attribute, *declared, schema);
  }
  for (const spec::AttributeSchema& declared : schema.attributes) {
    if (declared.required && !node.find_attribute(declared.name)) {
      context.error(
          "missing-attribute", context.at(scope, n),
          fmt::format("{} (opset {}) requires attribute {}", schema.name, schema.since_version, quote(declared.name)),
          fmt::format("{} {}", attribute_type_name(static_cast<std::int32_t>(declared.type)), declared.name),
          "nothing");
    }
  }
}

void check_auto_pad(RuleContext& context, const ir::GraphScope& scope, std::size_t n) {
  if (const auto fault = pads_beside_auto_pad(scope.graph->nodes[n], nullptr))
    context.error("exclusive-attributes", context.at(scope, n), fault->message, fault->expected, fault->found);
}

void check_attributes(RuleContext& context) {
  for (const auto& scope : context.scopes) {
    for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
      const ir::Node& node = scope->graph->nodes[n];
      std::unordered_set<std::string_view> seen;
      for (std::size_t a = 0; a < node.attributes.size(); ++a) {
        const ir::Attribute& attribute = node.attributes[a];
        check_form(context, *scope, n, attribute);
        if (!attribute.name.empty() && !seen.insert(attribute.name).second) {
          context.error("attribute-duplicate",
                        context.at(*scope, n, fmt::format("attribute {}", attribute.name.view())),
                        fmt::format("attribute {} is given twice", quote(attribute.name)), "once");
        }
      }
      const spec::OpSchema* schema = context.resolution.of(*scope->graph, n).schema;
      if (!schema || context.table.is_removed(*schema)) continue;
      check_against_schema(context, *scope, n, *schema);
      check_auto_pad(context, *scope, n);
    }
  }
}

}  // namespace

void register_attributes(RuleRegistry& registry) { registry.add(Stage::operators, check_attributes); }

}  // namespace onnxkit::checker
