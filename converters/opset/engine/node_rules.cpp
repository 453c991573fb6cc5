#include "converters/opset/engine/node_rules.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/core.h>

#include "checker/infer/type_rules.h"

namespace onnxkit::opset {
namespace {

Refusal no_equivalent(std::string reason) { return {"no-equivalent", std::move(reason)}; }

/// What the version before did not allow either is of a later version: check tells in the end.
std::optional<Refusal> unfit_attributes(const ir::Node& node, const spec::OpSchema& schema,
                                        const spec::OpSchema* before) {
  for (const ir::Attribute& attribute : node.attributes) {
    if (before && !before->find_attribute(attribute.name)) continue;
    if (!schema.find_attribute(attribute.name))
      return no_equivalent(
          fmt::format("{} {} has no attribute {}", schema.name, schema.since_version, attribute.name.view()));
  }
  for (const spec::AttributeSchema& attribute : schema.attributes) {
    if (attribute.required && !node.find_attribute(attribute.name))
      return no_equivalent(
          fmt::format("{} {} requires attribute {}", schema.name, schema.since_version, attribute.name));
  }
  return std::nullopt;
}

std::size_t count(const std::vector<ValueId>& values) {
  std::size_t n = values.size();
  while (n > 0 && values[n - 1] == ValueId::none) --n;
  return n;
}

std::optional<Refusal> unfit_counts(const ir::Node& node, const spec::OpSchema& schema) {
  const auto check_count = [&](std::string_view what, std::size_t n, std::size_t least,
                               std::size_t most) -> std::optional<Refusal> {
    if (n >= least && (most == spec::no_limit || n <= most)) return std::nullopt;
    return no_equivalent(fmt::format("{} {} does not allow {} {}", schema.name, schema.since_version, n, what));
  };
  if (auto refusal = check_count("inputs", count(node.inputs),
                                 std::min<std::size_t>(schema.min_inputs, node.inputs.size()), schema.max_inputs))
    return refusal;
  if (node.inputs.size() < schema.min_inputs)
    return check_count("inputs", node.inputs.size(), schema.min_inputs, schema.max_inputs);
  return check_count("outputs", count(node.outputs), 0, schema.max_outputs);
}

std::optional<Refusal> unfit_types(const ir::Node& node, const Scope& scope, const spec::OpSchema* before,
                                   const spec::OpSchema& schema, InferredValues& inferred) {
  const auto check_type = [&](std::string_view role, const spec::FormalParameter* formal,
                              const spec::FormalParameter* old_formal, ValueId value) -> std::optional<Refusal> {
    if (!formal || value == ValueId::none) return std::nullopt;
    const bool same_types = before && old_formal && before->types_of(*old_formal) == schema.types_of(*formal);
    if (same_types) return std::nullopt;
    const checker::Type* type = before ? inferred.type(scope, value) : inferred.known_type(scope, value);
    if (!type || checker::allows(schema.types_of(*formal), *type)) return std::nullopt;
    if (before && old_formal && !checker::allows(before->types_of(*old_formal), *type)) return std::nullopt;
    const std::string name = to_string(checker::without_shapes(*type), ir::DimPool());
    return Refusal{"type-not-there", fmt::format("{} {} does not allow {} as {} {}", schema.name, schema.since_version,
                                                 name, role, formal->name)};
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (auto refusal = check_type("input", schema.input_at(i), before ? before->input_at(i) : nullptr, node.inputs[i]))
      return refusal;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (auto refusal =
            check_type("output", schema.output_at(i), before ? before->output_at(i) : nullptr, node.outputs[i]))
      return refusal;
  }
  return std::nullopt;
}

bool same_default(const spec::AttributeSchema& a, const spec::AttributeSchema& b) {
  return spec::default_text(a) == spec::default_text(b);
}

}  // namespace

std::optional<Refusal> unfit(const ir::Node& node, const Scope& scope, const spec::OpSchema* schema, std::int64_t opset,
                             InferredValues& inferred, const spec::OpSchema* before) {
  if (!schema || inferred.table().is_removed(*schema))
    return no_equivalent(fmt::format("opset {1} has no operator {0}", node.op_type.view(), opset));
  if (auto refusal = unfit_attributes(node, *schema, before)) return refusal;
  if (auto refusal = unfit_counts(node, *schema)) return refusal;
  return unfit_types(node, scope, before, *schema, inferred);
}

std::optional<Refusal> unfit_addition(const ir::Node& node, const Scope& scope, const spec::OpSchema* schema,
                                      std::int64_t opset, InferredValues& inferred) {
  if (auto refusal = unfit(node, scope, schema, opset, inferred)) return refusal;
  std::map<std::uint16_t, std::string> types;  // by constraint
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const spec::FormalParameter* formal = schema->input_at(i);
    const checker::Type* type =
        formal && node.inputs[i] != ValueId::none ? inferred.type(scope, node.inputs[i]) : nullptr;
    if (!type) continue;
    const std::string name = to_string(checker::without_shapes(*type), ir::DimPool());
    const auto [first, is_new] = types.try_emplace(formal->constraint, name);
    if (!is_new && first->second != name)
      return Refusal{"type-not-there", fmt::format("{} {} does not allow {} and {} together", schema->name,
                                                   schema->since_version, first->second, name)};
  }
  return std::nullopt;
}

void drop_omitted(const ir::Node& node, const spec::OpSchema& after, Patch& patch) {
  const auto drop = [&patch](const std::vector<ValueId>& values, std::size_t most,
                             std::optional<std::vector<ValueId>>& edited) {
    if (edited || most == spec::no_limit || values.size() <= most || count(values) > most) return;
    edited.emplace(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(most));
    patch.edits = true;
    patch.notes.emplace_back("trailing omitted inputs or outputs removed");
  };
  drop(node.inputs, after.max_inputs, patch.inputs);
  drop(node.outputs, after.max_outputs, patch.outputs);
}

void write_old_defaults(const ir::Node& node, const spec::OpSchema& before, const spec::OpSchema& after, Step& step,
                        Patch& patch) {
  for (const spec::AttributeSchema& newer : after.attributes) {
    const spec::AttributeSchema* older = before.find_attribute(newer.name);
    if (!older || !older->has_default || same_default(*older, newer)) continue;
    const auto is_it = [&](const ir::Attribute& attribute) { return attribute.name == newer.name; };
    if (node.find_attribute(newer.name) || std::any_of(patch.set.begin(), patch.set.end(), is_it)) continue;
    if (std::find(patch.removed.begin(), patch.removed.end(), newer.name) != patch.removed.end()) continue;
    Attr attr{newer.name, std::int64_t{0}};
    switch (older->type) {
      case spec::AttributeType::integer:
        attr.value = older->default_value.integer;
        break;
      case spec::AttributeType::real:
        attr.value = older->default_value.real;
        break;
      case spec::AttributeType::string:
        attr.value = std::string(older->default_value.string);
        break;
      default:
        continue;
    }
    patch.set.push_back(step.attribute(std::move(attr)));
    patch.edits = true;
    patch.notes.push_back(
        fmt::format("attribute {} written out: its default was {}", newer.name, spec::default_text(*older)));
  }
}

}  // namespace onnxkit::opset
