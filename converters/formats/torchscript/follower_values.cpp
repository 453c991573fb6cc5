// Expressions: names, attributes of modules, calls of operators.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

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
  const Pickle state = object.object.state();
  const Pickle value = state[name];
  for (const auto& [stored, now] : rebound_)
    if (object.kind == Kind::object && value.exists() && stored.object.identity() == value.identity()) return now;
  if (object.kind != Kind::object || !value.exists()) return refuse(fmt::format("an object has no {}", quote(name)));
  return of_pickle(value, object.text.empty() ? std::string(name) : fmt::format("{}.{}", object.text, name));
}

/// "self.count += 1" gives the tensor that it writes into, which the attribute is already.
bool Follower::is_written_in_place(const Item& tensor, const Item& result) {
  if (tensor.kind != Kind::tensor || result.graph != &writer_.graph()) return false;
  const foreign::Node* node = producer(result);
  const Argument* self = node && KnownTypes::is_in_place(node->op) ? node->find("self") : nullptr;
  return self && self->as<ValueId>() && *self->as<ValueId>() == writer_.here(tensor);
}

/// A buffer that is given another tensor keeps the name of the stored one; nothing else may change.
void Follower::set_attribute(const Item& object, std::string_view name, const Item& value) {
  const Pickle stored = object.kind == Kind::object ? object.object.state()[name] : Pickle();
  if (!stored.exists() || value.kind != Kind::tensor)
    return void(refuse(fmt::format("the model changes attribute {}, which is no tensor", quote(name))));
  if (is_written_in_place(attribute(object, name), value)) return;
  if (writer_.is_inside()) return void(refuse("code behind a computed condition changes a buffer of a module"));
  Item before = of_pickle(stored, object.text.empty() ? std::string(name) : fmt::format("{}.{}", object.text, name));
  if (before.kind != Kind::tensor)
    return void(refuse(fmt::format("the model changes attribute {}, which is no tensor", quote(name))));
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

Item Follower::of_pickle(Pickle value, const std::string& path) {
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
  Item object = Item::of_kind(*callee == "torch.device" ? Kind::device : Kind::object);
  object.object = value;
  object.text = path;
  return object;
}

// ---- calls

Item Follower::call(const Expression& expression, Variables& variables) {
  const Expression& callee = expression.parts.front();
  std::vector<NamedItem> arguments;
  const std::string path = path_of(callee);
  const bool begins_with_type = path == "annotate" || path == "unchecked_cast" || path == "uninitialized";
  const std::size_t places = expression.parts.size() - 1 - expression.keywords.size();
  for (std::size_t i = 1; i < expression.parts.size(); ++i) {
    const std::string_view name = i > places ? expression.keywords[i - 1 - places] : std::string_view();
    arguments.push_back({name, i == 1 && begins_with_type ? Item() : value_of(expression.parts[i], variables)});
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
  if (fault_ || (object.kind == Kind::made && callee.text == "__init__")) return {};
  if (object.kind != Kind::object) {
    arguments.insert(arguments.begin(), {{}, object});
    return aten(callee.text, arguments);
  }
  return call_method(object, callee.text, arguments);
}

/// An object of the class, not filled yet. Only those are made that have no part in results.
Item Follower::make(std::string_view class_name) {
  if (class_name != "__torch__.torch.autograd.grad_mode.no_grad")
    return refuse(fmt::format("the code of the model makes an object of class {}", quote(class_name)));
  Item made = Item::of_kind(Kind::made);
  made.text = class_name;
  return made;
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

Item Follower::aten(std::string_view name, std::vector<NamedItem> arguments) {
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
  if (name == "format") return Item::of_kind(Kind::unknown);  // the text of a message, which nothing shows
  if ((name == "requires_grad_" || name == "cpu" || name == "cuda") && !items.empty()) return items[0];
  if (auto compared = compared_lists(name, items)) return *std::move(compared);
  if (auto computed = of_booleans(name, items)) return *std::move(computed);
  if (auto computed = of_range(name, items)) return *std::move(computed);
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
    return refuse(fmt::format("the code of the model needs the result of {} before it runs", quote(name)));
  const std::vector<NamedItem> as_numbers = with_numbers(arguments);
  return writer_.call(name, writer_.takes(name, as_numbers) ? as_numbers : arguments);
}

}  // namespace onnxkit::torchscript
