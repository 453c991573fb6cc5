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

ConditionResult fails(std::string reason, std::string expected, std::string found) {
  return {.answer = Answer::fails,
          .reason = std::move(reason),
          .item = {},
          .expected = std::move(expected),
          .found = std::move(found)};
}

/// Where an input comes from; nothing for demands of another kind.
std::optional<ConditionResult> check_origin(const TargetCondition& condition, TargetInfo& info,
                                            const ir::GraphScope& scope, ir::ValueId id) {
  using enum TargetCondition::Demand;
  const std::string_view wrong = condition.wanted ? "not " : "";
  switch (condition.demand) {
    case constant:
      if (info.is_constant(scope, id) == condition.wanted) return ConditionResult{};
      return fails(fmt::format("input {} is {}constant", condition.name, wrong),
                   condition.wanted ? "a constant" : "a computed value",
                   condition.wanted ? "a computed value" : "a constant");
    case initializer:
      if (info.is_initializer(scope, id) == condition.wanted) return ConditionResult{};
      return fails(fmt::format("input {} is {}an initializer", condition.name, wrong),
                   condition.wanted ? "an initializer" : "a computed value",
                   condition.wanted ? "a computed value" : "an initializer");
    case local:
      if (info.is_local(scope, id)) return ConditionResult{};
      return fails(fmt::format("input {} comes from an outer graph", condition.name), "a value of the same graph",
                   "a value of an outer graph");
    case port: {
      const bool is_input = condition.item == TargetCondition::Item::input;
      if (TargetInfo::is_port(scope, id, is_input) == condition.wanted) return ConditionResult{};
      const std::string_view what = is_input ? "input" : "output";
      return fails(fmt::format("{} {} is {}an {} of the model", what, condition.name, wrong, what), {}, {});
    }
    case not_from: {
      const ir::Node* const writer = TargetInfo::writer_of(scope, id);
      if (!writer || std::ranges::find(condition.operators, writer->op_type.view()) == condition.operators.end())
        return ConditionResult{};
      return fails(fmt::format("input {} is an output of {}", condition.name, ir::qualified_op(*writer)),
                   "a value of another operator", ir::qualified_op(*writer));
    }
    default:
      return std::nullopt;
  }
}

ConditionResult check_elements(const TargetCondition& condition, const TargetInfo& info, const ir::GraphScope& scope,
                               ir::ValueId id) {
  const auto elements = info.elements_of(scope, id);
  if (!elements) {
    return {.answer = Answer::unknown,
            .reason = fmt::format("the content of input {} is unknown", condition.name),
            .item = {},
            .expected = {},
            .found = {}};
  }
  ConditionResult result = check_values(condition, values_of(*elements));
  if (result.answer == Answer::fails) result.reason = fmt::format("input {} = {}", condition.name, result.found);
  return result;
}

ConditionResult check_value(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                            ir::ValueId id) {
  const std::string_view item = condition.item == TargetCondition::Item::output ? "output" : "input";
  if (auto result = check_origin(condition, info, scope, id)) return *std::move(result);
  const Type* type = info.type_of(scope, id);
  if (condition.demand == TargetCondition::Demand::nonempty) {
    if (!type || !type->shape || std::ranges::none_of(*type->shape, [](Dim d) { return d.is(0); })) return {};
    return fails(fmt::format("{} {} has an axis of size 0", item, condition.name), "axes of size 1 or more",
                 "an axis of size 0");
  }
  if (!type || !type->shape) {
    return {.answer = Answer::unknown,
            .reason = fmt::format("the rank of {} {} is unknown", item, condition.name),
            .item = {},
            .expected = {},
            .found = {}};
  }
  if (condition.demand == TargetCondition::Demand::is_static) {
    if (std::ranges::all_of(*type->shape, [](Dim d) { return d.is_constant(); })) return {};
    return fails(fmt::format("{} {} has a dynamic shape", item, condition.name), "a fixed shape", "a dynamic one");
  }
  const auto rank = static_cast<std::int64_t>(type->shape->size());
  if (condition.demand == TargetCondition::Demand::not_rank) {
    if (std::ranges::find(condition.ranks, rank) == condition.ranks.end()) return {};
    return fails(fmt::format("{} {} has rank {}", item, condition.name, rank), "a different rank",
                 fmt::format("rank {}", rank));
  }
  if (rank >= condition.min_rank && rank <= condition.max_rank) return {};
  const bool open = condition.max_rank == std::numeric_limits<std::int64_t>::max();
  return fails(fmt::format("{} {} has rank {}", item, condition.name, rank),
               open ? fmt::format("rank {} or more", condition.min_rank)
               : condition.min_rank == condition.max_rank
                   ? fmt::format("rank {}", condition.min_rank)
                   : fmt::format("rank {} to {}", condition.min_rank, condition.max_rank),
               fmt::format("rank {}", rank));
}

/// That an If gives each output the same rank in both branches.
ConditionResult check_equal_ranks(const TargetInfo& info, const ir::Node& node) {
  const ir::Attribute* const then_branch = node.find_attribute("then_branch");
  const ir::Attribute* const else_branch = node.find_attribute("else_branch");
  if (!then_branch || !else_branch || !then_branch->graph() || !else_branch->graph()) return {};
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto one = info.output_rank(*then_branch->graph(), i), other = info.output_rank(*else_branch->graph(), i);
    if (one && other && *one != *other)
      return fails(fmt::format("output {} has rank {} in one branch and rank {} in the other", i, *one, *other),
                   "one rank", fmt::format("ranks {} and {}", *one, *other));
  }
  return {};
}

/// That each 0 of a constant list of sizes has an axis to copy, also in branches that are never taken.
ConditionResult check_copies(const TargetCondition& condition, const TargetInfo& info, const ir::GraphScope& scope,
                             const ir::Node& node, const spec::OpSchema& schema) {
  const auto sizes = position_of(schema.inputs, node.inputs, condition.name);
  const auto data = position_of(schema.inputs, node.inputs, condition.copied);
  if (!sizes || !data) return {};
  const auto elements = info.elements_of(scope, node.inputs[*sizes]);
  const Type* type = info.type_of(scope, node.inputs[*data]);
  if (!elements || !type || !type->shape) return {};
  for (std::size_t i = type->shape->size(); i < elements->size(); ++i) {
    if ((*elements)[i] == 0)
      return fails(fmt::format("entry {} of input {} is 0, and input {} has no such axis to copy", i, condition.name,
                               condition.copied),
                   fmt::format("no 0 beyond axis {}", type->shape->size()), "0");
  }
  return {};
}

/// That an optional input is left out by its place, not by an empty name.
ConditionResult check_named(const TargetCondition& condition, const ir::Node& node, const spec::OpSchema& schema) {
  const auto formal = std::ranges::find(schema.inputs, condition.name, &spec::FormalParameter::name);
  const auto at = static_cast<std::size_t>(formal - schema.inputs.begin());
  if (formal == schema.inputs.end() || at >= node.inputs.size() || node.inputs[at] != ir::ValueId::none) return {};
  return fails(fmt::format("input {} is left out by an empty name", condition.name), "fewer inputs", "an empty name");
}

ConditionResult check_demand(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
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
      if (given == condition.wanted) return {};
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
      if (condition.item == TargetCondition::Item::input)
        return position ? check_elements(condition, info, scope, node.inputs[*position]) : ConditionResult{};
      if (attribute) return check_values(condition, values_of(*attribute));
      const spec::AttributeSchema* formal = schema.find_attribute(condition.name);
      return formal && formal->has_default ? check_values(condition, values_of(*formal)) : ConditionResult{};
    }
    case TargetCondition::Demand::equal_ranks:
      return check_equal_ranks(info, node);
    case TargetCondition::Demand::copies:
      return check_copies(condition, info, scope, node, schema);
    case TargetCondition::Demand::named:
      return check_named(condition, node, schema);
    case TargetCondition::Demand::note:
      if (!given) return {};
      return {.answer = Answer::unknown,
              .reason = condition.name.empty() ? condition.note : fmt::format("{}: {}", condition.name, condition.note),
              .item = {},
              .expected = {},
              .found = {}};
    default:
      if (!position) return {};
      return check_value(condition, info, scope,
                         (condition.item == TargetCondition::Item::output ? node.outputs : node.inputs)[*position]);
  }
}

ConditionResult check_condition(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                                const ir::Node& node, const spec::OpSchema& schema, std::string& item) {
  ConditionResult result = check_demand(condition, info, scope, node, schema, item);
  for (const TargetCondition& premise : condition.only_if) {
    if (result.answer == Answer::holds) break;
    std::string other;
    ConditionResult given = check_condition(premise, info, scope, node, schema, other);
    if (given.answer == Answer::fails) return {};
    if (given.answer == Answer::unknown) result = std::move(given);
  }
  return result;
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
    if (stored.contains(static_cast<ir::ValueId>(id))) origins[id] = Origin::stored;
  }
  for (const ir::Node& node : graph.nodes) {
    for (const ir::ValueId id : node.outputs) mark(id, Origin::variable);
  }
  const auto is_constant_input = [&](ir::ValueId id) {
    if (id == ir::ValueId::none || origins[ir::index_of(id)] >= Origin::constant) return true;
    return origins[ir::index_of(id)] == Origin::captured && is_constant_outside(scope, id);
  };
  for (const std::size_t n : ir::evaluation_order(graph)) {
    const ir::Node& node = graph.nodes[n];
    bool has_subgraph = false;
    ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { has_subgraph = true; });
    if (has_subgraph || node.op_type.view().starts_with("Random") ||
        !std::ranges::all_of(node.inputs, is_constant_input))
      continue;
    const Origin origin = node.op_type.view() == "Constant" ? Origin::stored : Origin::constant;
    for (const ir::ValueId id : node.outputs) mark(id, origin);
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
  if (origin >= Origin::constant) return true;
  if (const ValueInfo* info = context_.inferred->find(*scope.graph, id);
      info && info->value && info->value->constants())
    return true;
  return origin == Origin::captured && is_constant_outside(scope, id);
}

bool TargetInfo::is_initializer(const ir::GraphScope& scope, ir::ValueId id) {
  const Origin origin = origins_of(scope)[ir::index_of(id)];
  if (origin != Origin::captured || !scope.parent) return origin == Origin::stored;
  const ir::ValueId outer = scope.parent->graph->find(scope.graph->name_of(id));
  return outer != ir::ValueId::none && is_initializer(*scope.parent, outer);
}

bool TargetInfo::is_local(const ir::GraphScope& scope, ir::ValueId id) {
  return !scope.parent || origins_of(scope)[ir::index_of(id)] != Origin::captured;
}

bool TargetInfo::is_port(const ir::GraphScope& scope, ir::ValueId id, bool is_input) {
  const auto& ports = is_input ? scope.graph->inputs : scope.graph->outputs;
  return !scope.parent && !scope.function && std::ranges::find(ports, id, &ir::ValueInfo::value) != ports.end();
}

std::optional<std::vector<std::int64_t>> TargetInfo::elements_of(const ir::GraphScope& scope, ir::ValueId id) const {
  const std::string_view name = scope.graph->name_of(id);
  for (const ir::GraphScope* at = &scope; at; at = at->parent) {
    const ir::ValueId here = at == &scope ? id : at->graph->find(name);
    const ValueInfo* info = here == ir::ValueId::none ? nullptr : context_.inferred->find(*at->graph, here);
    if (info && info->value) return info->value->constants();
  }
  return std::nullopt;
}

const ir::Node* TargetInfo::writer_of(const ir::GraphScope& scope, ir::ValueId id) {
  const auto& nodes = scope.graph->nodes;
  const auto found = std::ranges::find_if(
      nodes, [&](const ir::Node& node) { return std::ranges::find(node.outputs, id) != node.outputs.end(); });
  return found == nodes.end() ? nullptr : &*found;
}

std::optional<std::size_t> TargetInfo::output_rank(const ir::Graph& graph, std::size_t index) const {
  if (index >= graph.outputs.size()) return std::nullopt;
  const ValueInfo* info = context_.inferred->find(graph, graph.outputs[index].value);
  return info && info->type.shape ? std::optional(info->type.shape->size()) : std::nullopt;
}

ConditionResult evaluate(const TargetCondition& condition, TargetInfo& info, const ir::GraphScope& scope,
                         const ir::Node& node, const spec::OpSchema& schema) {
  std::string item;
  ConditionResult result = check_condition(condition, info, scope, node, schema, item);
  result.item = std::move(item);
  return result;
}

}  // namespace onnxkit::checker
