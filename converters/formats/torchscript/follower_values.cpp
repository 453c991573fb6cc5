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

/// "torch.add" of names and attributes of names; empty for anything else.
std::string path_of(const Expression& expression) {
  if (expression.kind == Expression::Kind::name) return std::string(expression.text);
  if (expression.kind != Expression::Kind::attribute) return {};
  const std::string outer = path_of(expression.parts.front());
  return outer.empty() ? outer : fmt::format("{}.{}", outer, expression.text);
}

std::string_view first_name(const Expression& expression) {
  const Expression* at = &expression;
  while (at->kind == Expression::Kind::attribute) at = &at->parts.front();
  return at->kind == Expression::Kind::name ? at->text : std::string_view();
}

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

/// Constant tensors that stand for numbers as those: they do not decide the type of a result.
std::vector<NamedItem> with_numbers(std::vector<NamedItem> arguments) {
  for (NamedItem& argument : arguments)
    if (argument.item.is_wrapped_number) argument.item = Item::of_real(argument.item.real);
  return arguments;
}

/// What the first operand is, for a message.
std::string described(const Items& items) {
  if (items.empty()) return "nothing";
  switch (items.front().kind) {
    case Kind::tensor:
      return "a tensor whose rank is not known";
    case Kind::unsplit:
      return "a list of as many tensors as only a run finds";
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
      return fmt::format("a container of {} items, and a place in it that is not known or not there",
                         items.front().items->size());
    case Kind::none:
      return "None";
    default:
      return "something that is neither a tensor nor a list";
  }
}

std::string path_in(const Item& object, std::string_view name) {
  return object.text.empty() ? std::string(name) : fmt::format("{}.{}", object.text, name);
}

std::optional<bool> is_of_type(const Item& item, const Expression& type);

bool hold_same(const Item& a, const Item& b, int depth = 0) {
  constexpr int deepest = 16;
  if (depth > deepest || a.kind != b.kind || a.graph != b.graph || a.id != b.id) return false;
  if (a.items && b.items)
    return a.items->size() == b.items->size() &&
           std::equal(a.items->begin(), a.items->end(), b.items->begin(),
                      [&](const Item& x, const Item& y) { return hold_same(x, y, depth + 1); });
  return !a.items && !b.items && a.text == b.text && a.integer == b.integer && a.real == b.real;
}

/// Whether an item has one of the types. Nothing when that is not known.
std::optional<bool> is_of_one_type(const Item& item, const std::vector<Expression>& types) {
  bool result = false;
  for (const Expression& type : types) {
    const auto is = is_of_type(item, type);
    if (!is) return std::nullopt;
    result = result || *is;
  }
  return result;
}

/// Whether a container has a type such as List[Tensor]; what is in it has its types, as the language has no other lists.
std::optional<bool> is_of_container_type(const Item& item, const Expression& type) {
  const std::string_view name = type.parts[0].text;
  if (name == "Optional" && item.kind == Kind::none) return true;
  if (name == "Optional") return is_of_type(item, type.parts[1]);
  const Kind kind = name == "List"    ? Kind::list
                    : name == "Tuple" ? Kind::tuple
                    : name == "Dict"  ? Kind::dict
                                      : Kind::unknown;
  if (kind == Kind::unknown) return std::nullopt;
  if (kind == Kind::list && item.kind == Kind::unsplit) return type.parts[1].text == "Tensor";
  if (item.kind != kind) return false;
  if (kind != Kind::list || item.items->empty()) return std::nullopt;
  return is_of_type(item.items->front(), type.parts[1]);
}

std::optional<bool> is_of_type(const Item& item, const Expression& type) {
  using Form = Expression::Kind;
  if (item.kind == Kind::unknown || item.kind == Kind::absent || item.may_be_several) return std::nullopt;
  if (type.kind == Form::tuple || type.kind == Form::list) return is_of_one_type(item, type.parts);
  if (type.kind == Form::item) return is_of_container_type(item, type);
  if (type.text == "list" && item.kind == Kind::unsplit) return true;
  constexpr std::array<std::pair<std::string_view, Kind>, 10> names = {{{"Tensor", Kind::tensor},
                                                                        {"list", Kind::list},
                                                                        {"tuple", Kind::tuple},
                                                                        {"dict", Kind::dict},
                                                                        {"int", Kind::integer},
                                                                        {"float", Kind::real},
                                                                        {"bool", Kind::boolean},
                                                                        {"str", Kind::text},
                                                                        {"Device", Kind::device},
                                                                        {"NoneType", Kind::none}}};
  if (type.kind == Form::none) return item.kind == Kind::none;
  if (type.kind != Form::name) return std::nullopt;
  for (const auto& [name, kind] : names)
    if (type.text == name) return item.kind == kind;
  return std::nullopt;
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

// ---- calls

Item Follower::call(const Expression& expression, Variables& variables) {
  const Expression& callee = expression.parts.front();
  std::vector<NamedItem> arguments;
  const std::string path = path_of(callee);
  if (path == "isinstance" && expression.parts.size() == 3) return is_instance(expression, variables);
  const bool begins_with_type = path == "annotate" || path == "unchecked_cast" || path == "uninitialized";
  const std::size_t places = expression.parts.size() - 1 - expression.keywords.size();
  for (std::size_t i = 1; i < expression.parts.size(); ++i) {
    const std::string_view name = i > places ? expression.keywords[i - 1 - places] : std::string_view();
    const bool is_type = i == 1 && begins_with_type;
    arguments.push_back(
        {name, is_type ? Item::of_text(path_of(expression.parts[i])) : value_of(expression.parts[i], variables)});
    if (fault_) return {};
  }
  const bool is_method = callee.kind == Expression::Kind::attribute &&
                         (first_name(callee).empty() || variables.contains(first_name(callee)));
  // Functions are values, too: "_0 = __torch__.helper".
  const auto function = callee.kind == Expression::Kind::name ? variables.find(callee.text) : variables.end();
  if (function != variables.end() && function->second.kind == Kind::text)
    return call_path(function->second.text, std::move(arguments));
  if (!is_method) return call_path(path, std::move(arguments));
  const Item object = value_of(callee.parts.front(), variables);
  if (fault_) return {};
  if ((is_plain_context(object) || is_autocast(object)) && callee.text == "__init__")
    return begin_context(object, arguments);
  if (object.kind != Kind::object && object.kind != Kind::made) {
    arguments.insert(arguments.begin(), {{}, object});
    return aten(callee.text, arguments);
  }
  return call_method(object, callee.text, arguments);
}

/// isinstance(x, Tensor), or a tuple of types.
Item Follower::is_instance(const Expression& expression, Variables& variables) {
  const Item item = value_of(expression.parts[1], variables);
  if (fault_) return {};
  const auto known = is_of_type(item, expression.parts[2]);
  return known ? Item::of_boolean(*known) : refuse("the code of the model asks for the type of something unknown");
}

/// An object of the class, not filled yet.
Item Follower::make(std::string_view class_name) {
  Item made = Item::of_items(Kind::made, {});
  made.text = class_name;
  if (!is_plain_context(made) && !is_autocast(made) && !module_.classes.contains(made.text))
    return refuse(fmt::format("the code of the model makes an object of class {}", quote(class_name)));
  return kept(std::move(made));
}

/// What a context is made with. Autocast for a GPU changes nothing on a CPU, whose results the model gives.
Item Follower::begin_context(const Item& context, const std::vector<NamedItem>& arguments) {
  if (!is_autocast(context)) return {};
  const bool names_device = !arguments.empty() && arguments[0].item.kind == Kind::text;
  const bool is_on_cpu = names_device && arguments[0].item.text == "cpu";
  const std::size_t place = names_device ? 2 : 0;
  const Item enabled = arguments.size() > place ? arguments[place].item : Item::of_boolean(true);
  const bool is_off = enabled.is_known() && enabled.kind == Kind::boolean && enabled.integer == 0;
  return is_on_cpu && !is_off ? refuse("torch.autocast computes in a shorter type") : Item();
}

Item Follower::named_tuple(const Class& of, const std::vector<NamedItem>& arguments) {
  Items items;
  for (std::size_t i = 0; i < of.fields.size(); ++i) {
    const auto given = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const NamedItem& argument) { return argument.name == of.fields[i]; });
    const bool has_place = i < arguments.size() && arguments[i].name.empty();
    if (!has_place && given == arguments.end())
      return refuse(fmt::format("a {} is made without {}", quote(of.name), quote(of.fields[i])));
    items.push_back(has_place ? arguments[i].item : given->item);
  }
  Item tuple = Item::of_items(Kind::tuple, std::move(items));
  tuple.fields = &of.fields;
  return kept(std::move(tuple));
}

Item Follower::call_path(const std::string& path, std::vector<NamedItem> arguments) {
  constexpr std::string_view constructor = ".__new__";
  if (path.starts_with("__torch__.") && path.ends_with(constructor))
    return make(std::string_view(path).substr(0, path.size() - constructor.size()));
  if (const auto known = state_of_run(path)) return Item::of_boolean(*known);
  // Whether a mask is causal: the mask says as much.
  if (path == "__torch__.torch.nn.modules.transformer._detect_is_causal_mask" && arguments.size() > 1)
    return Item::of_boolean(arguments[1].item.kind == Kind::boolean && arguments[1].item.integer != 0);
  // Of two ways to the same boxes it takes one where there are many, another where there are few.
  const auto of_few = module_.functions.find("__torch__.torchvision.ops.boxes._batched_nms_coordinate_trick");
  if (path == "__torch__.torchvision.ops.boxes.batched_nms" && of_few != module_.functions.end()) {
    constexpr std::int64_t most_of_few = 1000;
    const auto sizes =
        arguments.empty() || arguments[0].item.kind != Kind::tensor ? std::nullopt : types().sizes(arguments[0].item);
    // The way of few lets boxes of two classes meet where coordinates are negative, that of many does not.
    if (sizes && !sizes->empty() && sizes->front() > most_of_few)
      arguments[0].item = aten("sub", {{{}, arguments[0].item}, {{}, aten("min", {{{}, arguments[0].item}})}});
    return inlined(*of_few->second, nullptr, arguments);
  }
  if (path == "__torch__.torch.nn.utils.rnn.pack_padded_sequence") return packed(arguments);
  if (path == "__torch__.torch.nn.utils.rnn.pad_packed_sequence") return unpacked(arguments);
  if (path.starts_with("__torch__.")) {
    const auto function = module_.functions.find(path);
    const auto of = module_.classes.find(path);
    if (of != module_.classes.end() && of->second->is_tuple) return named_tuple(*of->second, arguments);
    if (function == module_.functions.end())
      return refuse(fmt::format("the code of the model makes a {}", quote(path)));
    return inlined(*function->second, nullptr, arguments);
  }
  if (auto result = builtin(path, arguments)) return *std::move(result);
  for (const std::string_view of_numbers : {"max", "min", "abs"})
    if (path == fmt::format("ops.prim.{}", of_numbers)) return aten(of_numbers, arguments);
  for (const std::string_view domain : {"torch.", "ops.aten."})
    if (path.starts_with(domain)) return aten(std::string_view(path).substr(domain.size()), arguments);
  constexpr std::string_view operators = "ops.";
  if (path.starts_with("ops.torchvision.")) return aten(std::string_view(path).substr(operators.size()), arguments);
  if (!path.starts_with(operators)) return refuse(fmt::format("the code of the model calls {}", quote(path)));
  std::vector<Argument> given;
  for (const NamedItem& argument : arguments)
    if (argument.item.kind == Kind::tensor) given.push_back(writer_.argument(argument.name, argument.item));
  return writer_.node(path.substr(operators.size()), std::move(given), Kind::tensor);
}

/// The places of what is not zero, a tensor for each axis.
Item Follower::places_of(const Item& tensor) {
  const auto sizes = tensor.kind == Kind::tensor ? types().sizes(tensor) : std::nullopt;
  if (!sizes) return refuse("the number of axes of a tensor whose places are asked for is not known");
  ++told_.ranks;
  const Item places = aten("nonzero", {{{}, tensor}});
  Items of_axes;
  for (std::size_t axis = 0; axis < sizes->size(); ++axis)
    of_axes.push_back(aten(
        "select", {{{}, places}, {{}, Item::of_integer(1)}, {{}, Item::of_integer(static_cast<std::int64_t>(axis))}}));
  return kept(Item::of_items(Kind::list, std::move(of_axes)));
}

/// The first tensor among arguments whose rank is not known.
std::optional<ValueId> Follower::unknown_in(const std::vector<Argument>& arguments, const foreign::Graph& graph) {
  for (const Argument& argument : arguments) {
    if (const auto* list = argument.as<Argument::List>())
      if (auto inside = unknown_in(*list, graph)) return inside;
    const auto* id = argument.as<ValueId>();
    const bool is_tensor = id && !graph.values[foreign::index_of(*id)].is_number;
    if (is_tensor && !types().sizes(Item::of_value(Kind::tensor, graph, *id))) return *id;
  }
  return std::nullopt;
}

/// Which operator made the rank of a tensor unknown, for a message.
std::string Follower::origin_of(const Items& items) {
  if (items.empty() || items[0].kind != Kind::tensor) return {};
  Item tensor = items[0];
  constexpr int furthest = 1000;
  for (int i = 0; i < furthest; ++i) {
    const foreign::Node* node = producer(tensor);
    if (!node) return {};
    const auto unknown = unknown_in(node->arguments, *tensor.graph);
    if (!unknown) return fmt::format(", from {}", node->op);
    tensor.id = *unknown;
  }
  return {};
}

/// Whether Tensor.to changes nothing and so gives the tensor itself.
bool Follower::is_of_type_already(const std::vector<NamedItem>& arguments) {
  if (arguments.size() < 2 || arguments[0].item.kind != Kind::tensor || arguments[0].item.is_known()) return false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const Item& item = arguments[i].item;
    const bool is_type =
        item.kind == Kind::integer && item.is_known() && (arguments[i].name.empty() || arguments[i].name == "dtype");
    const bool is_nothing = item.kind == Kind::none || item.kind == Kind::device;
    const bool is_off = item.kind == Kind::boolean && item.is_known() && item.integer == 0;
    if (!is_type && !is_nothing && !is_off) return false;
    if (is_type && scalar_type_of(types().elem(arguments[0].item)) != item.integer) return false;
  }
  return true;
}

Item Follower::aten(std::string_view name, std::vector<NamedItem> arguments) {
  if (auto result = of_packed(name, arguments)) return *std::move(result);
  for (NamedItem& argument : arguments) argument.item = with_parts(argument.item);
  const Items items = items_of(arguments);
  if (auto grown = grow(name, items)) return *std::move(grown);
  if (auto replaced = replace(name, items)) return *std::move(replaced);
  for (const Item& item : items) note_read(item);
  if (fault_) return {};
  if (auto gathered = of_gathered(name, items)) return *std::move(gathered);
  if (auto typed = of_type(name, items)) return *std::move(typed);
  const bool asks_identity = name == "__is__" || name == "__isnot__";
  if (asks_identity && items.size() == 2 && items[0].kind == Kind::tensor && items[1].kind == Kind::tensor) {
    const Item a = written(items[0]), b = written(items[1]);
    return Item::of_boolean((a.graph == b.graph && a.id == b.id) == (name == "__is__"));
  }
  if (writer_.is_inside() && !items.empty() && items[0].kind == Kind::tensor && items[0].graph != &writer_.graph() &&
      KnownTypes::changes_shape(fmt::format("aten.{}.", name)))
    return refuse("a branch or loop that only a run decides changes the shape of a tensor from outside of it");
  if (auto known = known_result(name, items)) return *std::move(known);
  const bool joins_text =
      name == "add" && items.size() == 2 && (items[0].kind == Kind::text || items[1].kind == Kind::text);
  if (name == "format" || joins_text)
    return Item::of_kind(Kind::unknown);  // the text of a message, which nothing shows
  if ((name == "requires_grad_" || name == "cpu" || name == "cuda") && !items.empty()) return items[0];
  if (auto compared = compared_lists(name, items)) return *std::move(compared);
  if (auto computed = of_booleans(name, items)) return *std::move(computed);
  if (auto computed = of_range(name, items)) return *std::move(computed);
  if ((name == "where" || name == "nonzero_numpy") && items.size() == 1) return places_of(items[0]);
  if (name == "to" && is_of_type_already(arguments)) return items[0];
  const std::string_view of_numbers = number_operator(name);
  const bool is_comparison =
      name == "eq" || name == "ne" || name == "lt" || name == "le" || name == "gt" || name == "ge";
  if (!of_numbers.empty() && !items.empty() && are_numbers(items)) {
    std::vector<Argument> given;
    for (std::size_t i = 0; i < items.size(); ++i) given.push_back(writer_.argument(i == 0 ? "a" : "b", items[i]));
    const bool has_real =
        std::any_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Kind::real; });
    const bool is_rounded = name == "floor" || name == "ceil";
    const bool is_real = has_real || name == "div" || name == "sqrt" || name == "exp" || name == "log";
    const Kind kind = is_comparison ? Kind::boolean : is_real && !is_rounded ? Kind::real : Kind::integer;
    const Item result = writer_.node(of_numbers, std::move(given), kind);
    if (name != "pow" || has_real) return result;
    std::vector<Argument> power;  // a real number, of integers too
    power.push_back(writer_.argument("a", result));
    return writer_.node("sym_float", std::move(power), Kind::real);
  }
  if (name == "__getitem__" || name == "len" || name == "__contains__" || name == "dim" || name == "keys" ||
      name == "append" || name == "__is__" || name == "__isnot__" || name == "__not__")
    return refuse(fmt::format("the code of the model needs the result of {} before it runs, which is given {}",
                              quote(name), described(items) + origin_of(items)));
  const std::vector<NamedItem> as_numbers = with_numbers(arguments);
  if (name == "item" && items.size() == 1 && numbers_in(items[0])) {
    const bool is_real = is_floating(types().elem(items[0]));
    if (auto number = known_number(items[0], is_real ? Kind::real : Kind::integer)) return *std::move(number);
  }
  Item result = writer_.call(name, writer_.takes(name, as_numbers) ? as_numbers : arguments);
  note_numbers(name, items, result);
  return result;
}

}  // namespace onnxkit::torchscript
