#include "checker/targets/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::checker {
namespace {

using Answer = ConditionResult::Answer;

std::string text_of(const Type& type) {
  const auto wrapped = [&](std::string_view name) {
    const std::string inner = type.element ? text_of(*type.element) : std::string();
    return inner.empty() ? inner : fmt::format("{}({})", name, inner);
  };
  switch (type.kind) {
    case Type::Kind::tensor:
      return type.elem == ElementType::undefined ? std::string() : std::string(name_of(type.elem));
    case Type::Kind::sparse_tensor:
      return type.elem == ElementType::undefined ? std::string() : fmt::format("sparse({})", name_of(type.elem));
    case Type::Kind::sequence:
      return wrapped("seq");
    case Type::Kind::optional:
      return wrapped("optional");
    case Type::Kind::map: {
      const std::string value = type.element ? text_of(*type.element) : std::string();
      return value.empty() || type.elem == ElementType::undefined
                 ? std::string()
                 : fmt::format("map({},{})", name_of(type.elem), value);
    }
    default:
      return {};
  }
}

/// Index of the actual input or output that a formal parameter of that name stands for, when the node gives it.
std::optional<std::size_t> position_of(std::span<const spec::FormalParameter> formals,
                                       std::span<const ir::ValueId> actuals, std::string_view name) {
  for (std::size_t i = 0; i < formals.size() && i < actuals.size(); ++i) {
    if (formals[i].name == name && actuals[i] != ir::ValueId::none) return i;
  }
  return std::nullopt;
}

/// An attribute's values one by one: text for strings, numbers for the rest.
struct AttributeValues {
  bool readable = true;
  std::vector<ConditionValue> values;
};

ConditionValue value_of(std::string_view text) { return {.text = std::string(text), .number = {}}; }
ConditionValue value_of(std::int64_t number) {
  return {.text = std::to_string(number), .number = static_cast<double>(number)};
}
ConditionValue value_of(float number) { return {.text = fmt::format("{}", number), .number = number}; }
ConditionValue value_of(const Text& text) { return value_of(text.view()); }

template <class Range>
AttributeValues values_of(const Range& range) {
  AttributeValues result;
  for (const auto& item : range) result.values.push_back(value_of(item));
  return result;
}

AttributeValues values_of(const ir::Attribute& attribute) {
  if (!attribute.ref_attr_name.empty()) return {.readable = false, .values = {}};
  if (const auto* real = attribute.as<float>()) return {.readable = true, .values = {value_of(*real)}};
  if (const auto* number = attribute.as<std::int64_t>()) return {.readable = true, .values = {value_of(*number)}};
  if (const auto* text = attribute.as<Text>()) return {.readable = true, .values = {value_of(*text)}};
  if (const auto* reals = attribute.as<std::vector<float>>()) return values_of(*reals);
  if (const auto* numbers = attribute.as<std::vector<std::int64_t>>()) return values_of(*numbers);
  if (const auto* texts = attribute.as<std::vector<Text>>()) return values_of(*texts);
  return {.readable = false, .values = {}};
}

AttributeValues values_of(const spec::AttributeSchema& schema) {
  using enum spec::AttributeType;
  const spec::AttributeDefault& value = schema.default_value;
  switch (schema.type) {
    case real:
      return {.readable = true, .values = {value_of(value.real)}};
    case integer:
      return {.readable = true, .values = {value_of(value.integer)}};
    case string:
      return {.readable = true, .values = {value_of(value.string)}};
    case reals:
      return values_of(value.reals);
    case integers:
      return values_of(value.integers);
    case strings:
      return values_of(value.strings);
    default:
      return {.readable = false, .values = {}};
  }
}

bool same(const ConditionValue& listed, const ConditionValue& given) {
  return given.number ? listed.number == given.number : listed.text == given.text;
}

std::string list_text(std::span<const ConditionValue> values) {
  std::string text;
  for (const ConditionValue& value : values)
    text += (text.empty() ? "" : ", ") + (value.number ? value.text : quote(value.text, 40));
  return text;
}

ConditionResult check_values(const TargetCondition& condition, const AttributeValues& given) {
  if (!given.readable) {
    return {.answer = Answer::unknown,
            .reason = fmt::format("the function's caller sets attribute {}", condition.name),
            .item = {},
            .expected = {},
            .found = {}};
  }
  const bool wanted = condition.demand == TargetCondition::Demand::in;
  for (const ConditionValue& value : given.values) {
    const bool listed =
        std::ranges::any_of(condition.values, [&](const ConditionValue& one) { return same(one, value); });
    if (listed == wanted) continue;
    return {.answer = Answer::fails,
            .reason = fmt::format("attribute {} = {}", condition.name, list_text({&value, 1})),
            .item = {},
            .expected = fmt::format("{}{}", wanted ? "" : "not ", list_text(condition.values)),
            .found = list_text({&value, 1})};
  }
  return {};
}

ConditionResult check_input(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                            ir::ValueId id) {
  const auto fails = [&](std::string reason, std::string expected, std::string found) {
    return ConditionResult{.answer = Answer::fails,
                           .reason = std::move(reason),
                           .item = {},
                           .expected = std::move(expected),
                           .found = std::move(found)};
  };
  if (condition.demand == TargetCondition::Demand::constant) {
    if (info.is_constant(scope, id)) return {};
    return fails(fmt::format("input {} is not constant", condition.name), "a constant", "a computed value");
  }
  const Type* type = info.type_of(scope, id);
  if (!type || !type->shape) {
    return {.answer = Answer::unknown,
            .reason = fmt::format("the rank of input {} is unknown", condition.name),
            .item = {},
            .expected = {},
            .found = {}};
  }
  if (condition.demand == TargetCondition::Demand::is_static) {
    if (std::ranges::all_of(*type->shape, [](Dim d) { return d.is_constant(); })) return {};
    return fails(fmt::format("input {} has a dynamic shape", condition.name), "a fixed shape", "a dynamic one");
  }
  const auto rank = static_cast<std::int64_t>(type->shape->size());
  if (condition.demand == TargetCondition::Demand::not_rank) {
    if (std::ranges::find(condition.ranks, rank) == condition.ranks.end()) return {};
    return fails(fmt::format("input {} has rank {}", condition.name, rank), "a different rank",
                 fmt::format("rank {}", rank));
  }
  if (rank >= condition.min_rank && rank <= condition.max_rank) return {};
  const bool open = condition.max_rank == std::numeric_limits<std::int64_t>::max();
  return fails(fmt::format("input {} has rank {}", condition.name, rank),
               open ? fmt::format("rank {} or more", condition.min_rank)
               : condition.min_rank == condition.max_rank
                   ? fmt::format("rank {}", condition.min_rank)
                   : fmt::format("rank {} to {}", condition.min_rank, condition.max_rank),
               fmt::format("rank {}", rank));
}

ConditionResult check_condition(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                                const ir::Node& node, const spec::OpSchema& schema, std::string& item) {
  const ir::Attribute* attribute =
      condition.item == TargetCondition::Item::attribute ? node.find_attribute(condition.name) : nullptr;
  std::optional<std::size_t> position;
  if (condition.item == TargetCondition::Item::input)
    position = position_of(schema.inputs, node.inputs, condition.name);
  if (condition.item == TargetCondition::Item::output)
    position = position_of(schema.outputs, node.outputs, condition.name);
  const bool given = condition.item == TargetCondition::Item::node || attribute || position;
  item = condition.item == TargetCondition::Item::attribute ? fmt::format("attribute {}", condition.name)
         : !position
             ? std::string()
             : fmt::format("{} {}", condition.item == TargetCondition::Item::input ? "input" : "output", *position);
  switch (condition.demand) {
    case TargetCondition::Demand::present:
      if (given == condition.present) return {};
      return {.answer = Answer::fails,
              .reason = fmt::format("{} {} is {}",
                                    condition.item == TargetCondition::Item::attribute ? "attribute"
                                    : condition.item == TargetCondition::Item::input   ? "input"
                                                                                       : "output",
                                    condition.name, given ? "given" : "left out"),
              .item = {},
              .expected = given ? "none" : "one",
              .found = given ? "one" : "none"};
    case TargetCondition::Demand::in:
    case TargetCondition::Demand::not_in: {
      if (attribute) return check_values(condition, values_of(*attribute));
      const spec::AttributeSchema* formal = schema.find_attribute(condition.name);
      return formal && formal->has_default ? check_values(condition, values_of(*formal)) : ConditionResult{};
    }
    case TargetCondition::Demand::note:
      if (!given) return {};
      return {.answer = Answer::unknown,
              .reason = condition.name.empty() ? condition.note : fmt::format("{}: {}", condition.name, condition.note),
              .item = {},
              .expected = {},
              .found = {}};
    default:
      return position ? check_input(condition, info, scope, node.inputs[*position]) : ConditionResult{};
  }
}

}  // namespace

const Type* TargetInfo::type_of(const ir::GraphScope& scope, ir::ValueId id) const {
  if (id == ir::ValueId::none) return nullptr;
  const std::string_view name = scope.graph->name_of(id);
  for (const ir::GraphScope* at = &scope; at; at = at->parent) {
    const ir::ValueId here = at == &scope ? id : at->graph->find(name);
    const ValueInfo* info = here == ir::ValueId::none ? nullptr : context_.inferred->find(*at->graph, here);
    if (info && !info->type.is_unknown()) return &info->type;
  }
  return nullptr;
}

std::string TargetInfo::type_text(const ir::GraphScope& scope, ir::ValueId id) const {
  const Type* type = type_of(scope, id);
  return type ? text_of(*type) : std::string();
}

const std::vector<TargetInfo::Origin>& TargetInfo::origins_of(const ir::GraphScope& scope) {
  if (const auto known = origins_.find(scope.graph); known != origins_.end()) return known->second;
  const ir::Graph& graph = *scope.graph;
  std::vector<Origin> origins(graph.values.size(), Origin::captured);
  const auto mark = [&](ir::ValueId id, Origin origin) {
    if (id != ir::ValueId::none) origins[ir::index_of(id)] = origin;
  };
  for (const ir::ValueInfo& input : graph.inputs) mark(input.value, Origin::variable);
  const ir::InitializerTable stored(graph);
  for (std::size_t id = 0; id < origins.size(); ++id) {
    if (stored.contains(static_cast<ir::ValueId>(id))) origins[id] = Origin::constant;
  }
  for (const ir::Node& node : graph.nodes) {
    for (const ir::ValueId id : node.outputs) mark(id, Origin::variable);
  }
  const auto is_constant_input = [&](ir::ValueId id) {
    if (id == ir::ValueId::none || origins[ir::index_of(id)] == Origin::constant) return true;
    return origins[ir::index_of(id)] == Origin::captured && is_constant_outside(scope, id);
  };
  for (const std::size_t n : ir::evaluation_order(graph)) {
    const ir::Node& node = graph.nodes[n];
    bool has_subgraph = false;
    ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { has_subgraph = true; });
    if (has_subgraph || node.op_type.view().starts_with("Random") ||
        !std::ranges::all_of(node.inputs, is_constant_input))
      continue;
    for (const ir::ValueId id : node.outputs) mark(id, Origin::constant);
  }
  return origins_.emplace(scope.graph, std::move(origins)).first->second;
}

bool TargetInfo::is_constant_outside(const ir::GraphScope& scope, ir::ValueId id) {
  if (!scope.parent) return false;
  const ir::ValueId outer = scope.parent->graph->find(scope.graph->name_of(id));
  return outer != ir::ValueId::none && is_constant(*scope.parent, outer);
}

bool TargetInfo::is_constant(const ir::GraphScope& scope, ir::ValueId id) {
  if (id == ir::ValueId::none) return false;
  const Origin origin = origins_of(scope)[ir::index_of(id)];
  if (origin == Origin::constant) return true;
  if (const ValueInfo* info = context_.inferred->find(*scope.graph, id);
      info && info->value && info->value->constants())
    return true;
  return origin == Origin::captured && is_constant_outside(scope, id);
}

ConditionResult evaluate(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                         const ir::Node& node, const spec::OpSchema& schema) {
  std::string item;
  ConditionResult result = check_condition(condition, info, scope, node, schema, item);
  result.item = std::move(item);
  return result;
}

}  // namespace onnxkit::checker
