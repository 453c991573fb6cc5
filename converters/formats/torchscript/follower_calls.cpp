// Calls of operators, functions and classes.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"
#include "converters/formats/torchscript/lists.h"
#include "converters/formats/torchscript/numbers.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Argument;
using foreign::ValueId;
using Kind = Item::Kind;

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

std::optional<bool> is_of_type(const Item& item, const Expression& type);

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

/// batched_nms moves the boxes of each class to a place of their own where there are few, and these meet where coordinates are negative. Where there are
/// many it takes the classes one by one; moved to positive coordinates they do not meet either.
Item Follower::boxes_apart(const Item& boxes) {
  constexpr std::int64_t most_of_few = 1000;
  const auto sizes = boxes.kind == Kind::tensor ? types().sizes(boxes) : std::nullopt;
  const std::int64_t count = sizes && !sizes->empty() ? sizes->front() : -1;
  if (boxes.kind != Kind::tensor || (count >= 0 && count <= most_of_few)) return boxes;
  const auto with = [](const Item& a, const Item& b) { return std::vector<NamedItem>{{{}, a}, {{}, b}}; };
  const auto list = [&](Items items) { return kept(Item::of_items(Kind::list, std::move(items))); };
  const Item all = aten("reshape", with(boxes, list({Item::of_integer(-1)})));
  const Item zero = aten("new_zeros", with(boxes, list({Item::of_integer(1)})));
  const Item joined = aten("cat", with(list({all, zero}), Item::of_integer(0)));
  Item least = aten("min", {{{}, joined}});
  if (count < 0) {
    const Item rows =
        aten("ones_like", {{{}, aten("select", {{{}, boxes}, {{}, Item::of_integer(1)}, {{}, Item::of_integer(0)}})}});
    const Item is_many = aten("gt", with(aten("sum", {{{}, rows}}), Item::of_integer(most_of_few)));
    least = aten("where", {{{}, is_many}, {{}, least}, {{}, aten("sum", {{{}, zero}})}});
  }
  return aten("sub", with(boxes, least));
}

Item Follower::call_path(const std::string& path, std::vector<NamedItem> arguments) {
  constexpr std::string_view constructor = ".__new__";
  if (path.starts_with("__torch__.") && path.ends_with(constructor))
    return make(std::string_view(path).substr(0, path.size() - constructor.size()));
  if (const auto known = state_of_run(path)) return Item::of_boolean(*known);
  // Whether a mask is causal: the mask says as much.
  if (path == "__torch__.torch.nn.modules.transformer._detect_is_causal_mask" && arguments.size() > 1)
    return Item::of_boolean(arguments[1].item.kind == Kind::boolean && arguments[1].item.integer != 0);
  const auto of_few = module_.functions.find("__torch__.torchvision.ops.boxes._batched_nms_coordinate_trick");
  if (path == "__torch__.torchvision.ops.boxes.batched_nms" && of_few != module_.functions.end()) {
    if (!arguments.empty()) arguments[0].item = boxes_apart(arguments[0].item);
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

/// An operator of numbers that only a run knows.
std::optional<Item> Follower::of_numbers(std::string_view name, const Items& items) {
  const std::string_view op = number_operator(name);
  if (op.empty() || items.empty() || !are_numbers(items)) return std::nullopt;
  std::vector<Argument> given;
  for (std::size_t i = 0; i < items.size(); ++i) given.push_back(writer_.argument(i == 0 ? "a" : "b", items[i]));
  const bool is_comparison =
      name == "eq" || name == "ne" || name == "lt" || name == "le" || name == "gt" || name == "ge";
  const bool has_real =
      std::any_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Kind::real; });
  const bool is_rounded = name == "floor" || name == "ceil";
  const bool is_real = has_real || name == "div" || name == "sqrt" || name == "exp" || name == "log";
  const Kind kind = is_comparison ? Kind::boolean : is_real && !is_rounded ? Kind::real : Kind::integer;
  const Item result = writer_.node(op, std::move(given), kind);
  if (name != "pow" || has_real) return result;
  std::vector<Argument> power;  // a real number, of integers too
  power.push_back(writer_.argument("a", result));
  return writer_.node("sym_float", std::move(power), Kind::real);
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
  if (auto computed = of_numbers(name, items)) return *std::move(computed);
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
