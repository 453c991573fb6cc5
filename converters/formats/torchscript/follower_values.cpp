// Expressions: names, attributes of modules, calls of operators.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"
#include "converters/formats/torchscript/lists.h"
#include "converters/formats/torchscript/numbers.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::torchscript {
namespace {

using containers::Pickle;
using foreign::Argument;
using foreign::ValueId;
using Kind = Item::Kind;

/// The name of the operator behind an infix one.
std::string_view infix_name(std::string_view op) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> names = {{
      {"+", "add"},
      {"-", "sub"},
      {"*", "mul"},
      {"/", "div"},
      {"//", "floordiv"},
      {"%", "remainder"},
      {"==", "eq"},
      {"!=", "ne"},
      {"<", "lt"},
      {"<=", "le"},
      {">", "gt"},
      {">=", "ge"},
      {"and", "__and__"},
      {"or", "__or__"},
      {"is", "__is__"},
      {"is not", "__isnot__"},
      {"**", "pow"},
      {"@", "matmul"},
  }};
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == op; });
  return found == names.end() ? std::string_view() : found->second;
}

std::string path_in(const Item& object, std::string_view name) {
  return object.text.empty() ? std::string(name) : fmt::format("{}.{}", object.text, name);
}

bool hold_same(const Item& a, const Item& b, int depth = 0) {
  constexpr int deepest = 16;
  if (depth > deepest || a.kind != b.kind || a.graph != b.graph || a.id != b.id) return false;
  if (a.items && b.items)
    return a.items->size() == b.items->size() &&
           std::equal(a.items->begin(), a.items->end(), b.items->begin(),
                      [&](const Item& x, const Item& y) { return hold_same(x, y, depth + 1); });
  return !a.items && !b.items && a.text == b.text && a.integer == b.integer && a.real == b.real;
}

}  // namespace

Items Follower::values_of(const std::vector<Expression>& expressions, Variables& variables) {
  Items items;
  for (const Expression& expression : expressions) {
    if (fault_) break;
    items.push_back(value_of(expression, variables));
  }
  return items;
}

Item Follower::value_of(const Expression& expression, Variables& variables) {
  using Form = Expression::Kind;
  if (fault_) return {};
  switch (expression.kind) {
    case Form::none:
      return {};
    case Form::integer:
      return Item::of_integer(expression.integer);
    case Form::real:
      return Item::of_real(expression.real);
    case Form::boolean:
      return Item::of_boolean(expression.integer != 0);
    case Form::text:
      return Item::of_text(expression.string);
    case Form::list:
    case Form::tuple:
    case Form::dict: {
      const Kind kind = expression.kind == Form::list    ? Kind::list
                        : expression.kind == Form::tuple ? Kind::tuple
                                                         : Kind::dict;
      return kept(Item::of_items(kind, values_of(expression.parts, variables)));
    }
    case Form::name:
    case Form::attribute:
      return named(expression, variables);
    case Form::call:
      return call(expression, variables);
    case Form::operation:
      return operation(expression, variables);
    case Form::item: {
      const Item list = value_of(expression.parts[0], variables), index = value_of(expression.parts[1], variables);
      return aten("__getitem__", {{{}, list}, {{}, index}});
    }
    default: {
      const Item condition = value_of(expression.parts[1], variables);
      if (!condition.is_known() || !condition.is_number()) return refuse("a choice depends on a computed condition");
      return value_of(expression.parts[condition.as_real() != 0 ? 0 : 2], variables);
    }
  }
}

Item Follower::operation(const Expression& expression, Variables& variables) {
  const Items operands = values_of(expression.parts, variables);
  if (fault_) return {};
  std::vector<NamedItem> arguments;
  for (const Item& item : operands) arguments.push_back({{}, item});
  const std::string_view name = operands.size() == 2       ? infix_name(expression.text)
                                : expression.text == "not" ? "__not__"
                                : expression.text == "-"   ? "neg"
                                                           : std::string_view();
  if (name.empty()) return refuse(fmt::format("the code of the model has an operator {}", quote(expression.text)));
  return aten(name, arguments);
}

Item Follower::named(const Expression& expression, Variables& variables) {
  const auto variable = variables.find(first_name(expression));
  if (variable == variables.end()) {
    const std::string path = path_of(expression);
    constexpr std::string_view constants = "CONSTANTS.c";
    if (path.starts_with(constants)) {
      const auto place = static_cast<std::int64_t>(std::strtoll(path.c_str() + constants.size(), nullptr, 10));
      const auto [known, is_new] = constants_.try_emplace(place);
      if (is_new) known->second = of_pickle(module_.constants->root()[static_cast<std::size_t>(place)], path);
      return known->second;
    }
    if (path == "inf" || path == "nan") return Item::of_real(std::strtod(path.c_str(), nullptr));
    if (path.empty() && expression.kind == Expression::Kind::attribute)
      return attribute(value_of(expression.parts.front(), variables), expression.text);
    return Item::of_text(path);  // the name of a type
  }
  if (expression.kind == Expression::Kind::name) return variable->second;
  return attribute(value_of(expression.parts.front(), variables), expression.text);
}

Item Follower::attribute(const Item& object, std::string_view name) {
  if (fault_) return {};
  if (object.kind == Kind::tensor) {
    if (name == "requires_grad" || name == "is_cuda" || name == "is_sparse" || name == "is_quantized")
      return Item::of_boolean(false);
    return refuse(fmt::format("the code of the model asks for {} of a tensor", quote(name)));
  }
  if (object.fields) {
    const auto field = std::find(object.fields->begin(), object.fields->end(), name);
    if (field != object.fields->end()) return (*object.items)[static_cast<std::size_t>(field - object.fields->begin())];
  }
  if (object.kind == Kind::made) {
    const auto field = list_result(
        "__getitem__", std::array{Item::of_items(Kind::dict, *object.items), Item::of_text(std::string(name))});
    if (field) return *field;
  }
  const Pickle state = object.object.state();
  const Pickle value = state[name];
  if (object.kind != Kind::object || !value.exists()) return refuse(fmt::format("an object has no {}", quote(name)));
  const Attribute key(object.object.identity(), name);
  if (const auto changed = changed_.find(key); changed != changed_.end()) return changed->second.now;
  read_.insert(key);
  for (const auto& [stored, now] : rebound_)
    if (stored.object.identity() == value.identity()) return now;
  return of_pickle(value, path_in(object, name));
}

/// "self.count += 1" gives the tensor that it writes into, which the attribute is already.
bool Follower::is_written_in_place(const Item& tensor, const Item& result) {
  if (tensor.kind != Kind::tensor || result.graph != &writer_.graph()) return false;
  const foreign::Node* node = producer(result);
  const Argument* self = node && KnownTypes::is_in_place(node->op) ? node->find("self") : nullptr;
  return self && self->as<ValueId>() && *self->as<ValueId>() == writer_.here(tensor);
}

void Follower::set_attribute(const Item& object, std::string_view name, const Item& value) {
  if (object.kind == Kind::made) return set_field(object, name, value);
  const Pickle stored = object.kind == Kind::object ? object.object.state()[name] : Pickle();
  if (!stored.exists()) return void(refuse(fmt::format("an object has no {}", quote(name))));
  const bool is_changed = changed_.contains({object.object.identity(), std::string(name)});
  const bool was_tensor = !is_changed && of_pickle(stored, path_in(object, name)).kind == Kind::tensor;
  if (was_tensor && value.kind == Kind::tensor) return set_tensor(object, name, value);
  change_attribute(object, name, value);
}

/// What the code keeps in an object that it made itself.
void Follower::set_field(const Item& made, std::string_view name, const Item& value) {
  for (const Inside& inside : insides_)
    if (inside.outer.contains(made.items.get()))
      return void(refuse("a branch or loop that only a run decides changes an object"));
  set_item(made, Item::of_text(std::string(name)), value);
}

/// What a module keeps for itself from call to call is not in the graph, unless it is a tensor.
void Follower::change_attribute(const Item& object, std::string_view name, const Item& value) {
  if (writer_.is_inside()) return void(refuse("code behind a computed condition changes an attribute of a module"));
  const Attribute key(object.object.identity(), name);
  const auto [changed, is_new] = changed_.try_emplace(key);
  if (is_new) changed->second = {object.object.state()[name], path_in(object, name), {}, read_.contains(key)};
  changed->second.now = value;
}

std::map<std::string, Item> Follower::changed_attributes() {
  std::map<std::string, Item> changes;
  for (const auto& [key, changed] : changed_) {
    const Item before = changed.was_read ? of_pickle(changed.stored, changed.path) : Item();
    if (changed.was_read && !hold_same(before, changed.now)) changes.emplace(changed.path, changed.now);
  }
  return changes;
}

/// A buffer that is given another tensor keeps the name of the stored one.
void Follower::set_tensor(const Item& object, std::string_view name, const Item& value) {
  const Pickle stored = object.object.state()[name];
  if (is_written_in_place(attribute(object, name), value)) return;
  if (writer_.is_inside()) return void(refuse("code behind a computed condition changes a buffer of a module"));
  Item before = of_pickle(stored, path_in(object, name));
  before.object = stored;
  for (auto& [known, now] : rebound_)
    if (known.object.identity() == stored.identity()) return void(now = value);
  rebound_.emplace_back(std::move(before), value);
}

Item Follower::parameter(Pickle value, const std::string& path) {
  auto tensor = module_.archive.tensor(value, path, path.starts_with("CONSTANTS.") ? "constants/" : "data/");
  if (!tensor) {
    fail(std::move(tensor).error());
    return {};
  }
  if (!*tensor) return Item::of_kind(Kind::unknown);
  foreign::Graph& graph = model_.graph;
  const std::string_view name = writer_.keep(path);
  const ValueId id = graph.add_value(name);
  graph.tensors.push_back({id, name, (*tensor)->elem, (*tensor)->dims, (*tensor)->bytes});
  Item item = Item::of_value(Kind::tensor, graph, id);
  // A trace keeps the numbers of the program as constants of this type.
  item.is_wrapped_number =
      path.starts_with("CONSTANTS.") && (*tensor)->elem == ElementType::float64 && (*tensor)->dims.empty();
  if (item.is_wrapped_number) std::memcpy(&item.real, (*tensor)->bytes.data(), sizeof item.real);
  return item;
}

/// An item of an enumeration as the code names it: "__torch__.Format.NCHW".
Item Follower::of_enumeration(const Class& of, std::string_view path, Pickle value) {
  for (const Statement& member : of.members) {
    const Expression& given = member.value;
    const bool is_text = given.kind == Expression::Kind::text && value.text() == std::string_view(given.string);
    const bool is_integer = given.kind == Expression::Kind::integer && value.integer() == given.integer;
    if ((is_text || is_integer) && !member.targets.empty())
      return Item::of_text(fmt::format("{}.{}", path, member.targets.front().text));
  }
  return Item::of_kind(Kind::unknown);
}

Item Follower::of_pickle(Pickle value, const std::string& path) {
  if (const auto given = given_.find(path); given != given_.end()) return given->second;
  if (!value.exists() || value.is_none()) return {};
  if (const auto known = value.boolean()) return Item::of_boolean(*known);
  if (const auto known = value.integer()) return Item::of_integer(*known);
  if (const auto known = value.real()) return Item::of_real(*known);
  if (const auto known = value.text()) return Item::of_text(std::string(*known));
  if (value.is_list() || value.is_tuple() || value.is_dict()) {
    constexpr std::size_t deepest = 50;
    if (++depth_ > deepest + 200) {
      fail(make_error("nesting-depth", "an attribute of the model is nested too deeply"));
      return {};
    }
    Items items;
    for (std::size_t i = 0; i < value.size() && !fault_; ++i) {
      if (value.is_dict()) items.push_back(of_pickle(value.key(i), path));
      items.push_back(of_pickle(value.is_dict() ? value.value(i) : value[i], fmt::format("{}.{}", path, i)));
    }
    --depth_;
    const Kind kind = value.is_list() ? Kind::list : value.is_tuple() ? Kind::tuple : Kind::dict;
    Item made = Item::of_items(kind, std::move(items));
    stored_lists_.insert(made.items);
    return made;
  }
  const auto callee = value.callee().global();
  if (!callee) return Item::of_kind(Kind::unknown);
  if (callee->starts_with("torch.jit._pickle.")) return of_pickle(value.arguments()[0], path);
  if (callee->starts_with("torch._utils.")) {
    const bool is_constant = path.starts_with("CONSTANTS.");
    if (is_constant) return parameter(value, path);
    const auto [known, is_new] = parameters_.try_emplace(value.identity());
    if (is_new) known->second = parameter(value, path);
    return known->second;
  }
  if (*callee == "torch.device") return Item::of_device("cpu");  // where the file is loaded
  const auto of = module_.classes.find(std::string(*callee));
  if (of != module_.classes.end() && of->second->is_enumeration)
    return of_enumeration(*of->second, *callee, value.arguments());
  Item object = Item::of_kind(Kind::object);
  object.object = value;
  object.text = path;
  return object;
}

}  // namespace onnxkit::torchscript
