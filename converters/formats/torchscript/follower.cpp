// Statements: calls of methods, assignments, branches and loops.
#include "converters/formats/torchscript/follower.h"

#include <algorithm>

#include <fmt/format.h>

namespace onnxkit::torchscript {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::ValueId;
using Kind = Item::Kind;

std::string class_of(const Item& object) {
  return object.kind == Kind::made ? object.text : std::string(object.object.callee().global().value_or(""));
}

bool is_same(const Item& a, const Item& b) {
  if (a.kind != b.kind || a.graph != b.graph || a.id != b.id) return false;
  if (a.items != b.items || a.text != b.text || a.node != b.node) return false;
  if (a.kind == Kind::object) return a.object.identity() == b.object.identity();
  return a.integer == b.integer && (a.real == b.real || (a.real != a.real && b.real != b.real));
}

bool is_value(const Item& item) { return item.kind == Kind::tensor || item.is_number(); }

/// What a variable gives from pass to pass: itself, or the items of a tuple.
Items values_in(const Item& item) { return item.kind == Kind::tuple ? *item.items : Items{item}; }

/// Whether a variable that two branches give otherwise can be values that a node gives: tensors, numbers, tuples of them, and what only one has.
bool become_one(const Item& a, const Item& b) {
  if (a.kind == Kind::absent && b.kind == Kind::absent) return false;
  const Items of_a = values_in(a.kind == Kind::absent ? b : a), of_b = values_in(b.kind == Kind::absent ? a : b);
  return of_a.size() == of_b.size() && std::all_of(of_a.begin(), of_a.end(), is_value) &&
         std::all_of(of_b.begin(), of_b.end(), is_value);
}

/// The other way round: as many values as the variable had, from `next` on.
Item with_values(const Item& before, const Items& values, std::size_t& next) {
  if (before.kind != Kind::tuple) return values[next++];
  Items items;
  for (std::size_t i = 0; i < before.items->size(); ++i) items.push_back(values[next++]);
  Item made = Item::of_items(Kind::tuple, std::move(items));
  made.fields = before.fields;
  return made;
}

}  // namespace

Item Follower::refuse(std::string reason) {
  Error error = make_error("not-supported", std::move(reason));
  if (!writer_.scope().empty()) error.diagnostic.notes.push_back(fmt::format("in module {}", quote(writer_.scope())));
  fail(std::move(error));
  return Item::of_kind(Kind::unknown);
}

const Function* Follower::method_of(const Item& object, std::string_view method) const {
  const auto found = module_.classes.find(class_of(object));
  if (found == module_.classes.end()) return nullptr;
  for (const Function& function : found->second->methods)
    if (function.name == method) return &function;
  return nullptr;
}

Item Follower::call_method(const Item& object, std::string_view method, const std::vector<NamedItem>& arguments) {
  const Function* function = method_of(object, method);
  if (!function)
    return refuse(fmt::format("class {} has no method {} in the archive", quote(class_of(object)), quote(method)));
  const std::string_view outer = writer_.scope();
  if (object.kind == Kind::object) writer_.set_scope(writer_.keep(object.text));
  Item result = inlined(*function, &object, arguments);
  writer_.set_scope(outer);
  return result;
}

Item Follower::inlined(const Function& function, const Item* object, const std::vector<NamedItem>& arguments) {
  constexpr std::size_t deepest = 200;
  if (depth_ == deepest) {
    fail(make_error("nesting-depth", "methods of the model call one another too deeply"));
    return {};
  }
  Variables variables;
  std::size_t first = 0;
  if (object && !function.parameters.empty()) variables[function.parameters[first++].name] = *object;
  if (arguments.size() > function.parameters.size() - first)
    return refuse("a method is called with too many arguments");
  for (std::size_t i = 0; i < arguments.size(); ++i)
    variables[arguments[i].name.empty() ? function.parameters[first + i].name : arguments[i].name] = arguments[i].item;
  for (const Function::Parameter& parameter : function.parameters) {
    if (variables.contains(parameter.name)) continue;
    if (!parameter.has_fallback)
      return refuse(fmt::format("{} is called without {}", quote(function.name), quote(parameter.name)));
    variables[parameter.name] = value_of(parameter.fallback, variables);
  }
  ++depth_;
  const bool outer_has_returned = std::exchange(has_returned_, false);
  follow(function.body, variables);
  --depth_;
  has_returned_ = outer_has_returned;
  return std::exchange(returned_, {});
}

void Follower::follow(const std::vector<Statement>& statements, Variables& variables) {
  for (const Statement& statement : statements) {
    if (fault_ || has_returned_) return;
    constexpr std::size_t most_steps = std::size_t{1} << 20;
    if (++steps_ > most_steps) return fail(make_error("memory-limit", "the code of the model has too many steps"));
    follow(statement, variables);
  }
}

void Follower::follow(const Statement& statement, Variables& variables) {
  switch (statement.kind) {
    case Statement::Kind::assignment:
      return assign(statement, variables);
    case Statement::Kind::expression:
      return void(value_of(statement.value, variables));
    case Statement::Kind::result:
      returned_ = value_of(statement.value, variables);
      has_returned_ = true;
      return;
    case Statement::Kind::branch:
      return branch(statement, variables);
    case Statement::Kind::for_loop:
    case Statement::Kind::while_loop:
      return loop(statement, variables);
    case Statement::Kind::context:
      return context(statement, variables);
    case Statement::Kind::function:
      return forked(statement, variables);
    case Statement::Kind::failure:
      return void(refuse("the code of the model ends with an error"));
    case Statement::Kind::nothing:
      return;
  }
}

void Follower::assign(const Statement& statement, Variables& variables) {
  const Item value = value_of(statement.value, variables);
  if (fault_) return;
  if (statement.unpacks) return unpack(statement.targets, value, variables);
  const Expression& target = statement.targets.front();
  if (target.kind == Expression::Kind::attribute) {
    const Item object = value_of(target.parts.front(), variables);
    return set_attribute(object, target.text, value);
  }
  if (target.kind != Expression::Kind::name)
    return void(refuse("the model changes an attribute of a module, which is not converted"));
  variables[target.text] = value;
}

void Follower::unpack(const std::vector<Expression>& targets, const Item& value, Variables& variables) {
  Items items;
  const auto parts = value.kind == Kind::unsplit ? parts_.find({value.graph, value.node}) : parts_.end();
  if (parts != parts_.end()) {
    items = *parts->second.items;
  } else if (value.kind == Kind::unsplit || value.may_be_several) {
    items = writer_.split(value, targets.size());
  } else if (value.kind == Kind::list || value.kind == Kind::tuple) {
    note_read(value);
    items = *value.items;
  }
  for (const Item& item : items)
    if (item.kind == Kind::gathered) return void(refuse("a list is taken apart whose length only a run can tell"));
  if (items.size() != targets.size()) return void(refuse("a list has another length than it is taken apart to"));
  for (std::size_t i = 0; i < targets.size(); ++i) variables[targets[i].text] = items[i];
}

/// Whether gradients are kept changes no result, so what stands under no_grad is plain code.
void Follower::context(const Statement& statement, Variables& variables) {
  const Item context = value_of(statement.value, variables);
  if (fault_) return;
  if ((!is_plain_context(context) && !is_autocast(context)) || !statement.targets.empty())
    return void(refuse("the code of the model has a 'with' of something else than torch.no_grad() and the like"));
  follow(statement.body, variables);
}

/// The body of a function inside of another one, which torch.jit.fork calls once: at once instead of beside the other code.
void Follower::forked(const Statement& statement, Variables& variables) {
  Variables inner = variables;
  const bool outer_has_returned = std::exchange(has_returned_, false);
  follow(statement.body, inner);
  has_returned_ = outer_has_returned;
  variables[statement.targets.front().text] = std::exchange(returned_, {});
}

namespace {

/// What stands behind it, such as values of variables that there are none of, is never reached.
bool raises(const std::vector<Statement>& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Statement& statement) {
    return statement.kind == Statement::Kind::failure ||
           (statement.kind == Statement::Kind::expression && statement.value.kind == Expression::Kind::call &&
            statement.value.parts.front().text == "RaiseException");
  });
}

}  // namespace

void Follower::branch(const Statement& statement, Variables& variables) {
  const Item condition = value_of(statement.value, variables);
  if (fault_) return;
  if (condition.is_known() && condition.is_number())
    return follow(condition.as_real() != 0 ? statement.body : statement.other, variables);
  // A check of what the model is given. It is taken to hold: ONNX has nothing that raises.
  if (raises(statement.body)) return follow(statement.other, variables);
  if (raises(statement.other)) return follow(statement.body, variables);
  if (condition.is_known()) return void(refuse("the condition of a branch is not a boolean that onnxkit follows"));
  open_branch(statement, condition, variables);
}

Follower::Side Follower::follow_side(const std::vector<Statement>& statements, const Variables& variables) {
  Side side{std::make_unique<Graph>(), variables, {}, {}, {}};
  writer_.open(*side.graph, {});
  enter(false, variables);
  follow(statements, side.after);
  insides_.pop_back();
  if (has_returned_) refuse("a branch on a computed condition returns");
  side.captured = writer_.close();
  return side;
}

/// In place of a value that a branch does not have, and that no one reads behind it: some value of that type.
Item Follower::stand_in(const Item& value, ElementType type) {
  if (value.kind == Kind::integer) return Item::of_integer(0);
  if (value.is_number()) return value.kind == Kind::real ? Item::of_real(0) : Item::of_boolean(false);
  const auto code = scalar_type_of(type);
  if (!code) return refuse("a branch on a computed condition has no value that the other one has");
  return aten("zeros", {{{}, Item::of_items(Kind::list, {})}, {"dtype", Item::of_integer(*code)}});
}

/// The element types of what variables hold in a side, of those that another one lacks.
std::vector<ElementType> Follower::types_of_absent(Side& side, const std::vector<std::string_view>& names,
                                                   const Variables& others) {
  writer_.open(*side.graph, std::move(side.captured));
  std::vector<ElementType> found;
  for (const std::string_view name : names) {
    if (others.at(name).kind != Kind::absent) continue;
    for (const Item& value : values_in(side.after[name]))
      found.push_back(value.kind == Kind::tensor && !value.is_known() ? types().elem(value) : ElementType::undefined);
  }
  side.captured = writer_.close();
  return found;
}

/// Makes the variables outputs of the side's graph.
void Follower::give(Side& side, const std::vector<std::string_view>& names, const Variables& others,
                    const std::vector<ElementType>& types_of_others) {
  writer_.open(*side.graph, std::move(side.captured));
  std::size_t next = 0;
  for (const std::string_view name : names) {
    const Item item = side.after[name];
    const bool is_absent = item.kind == Kind::absent;
    for (const Item& value : values_in(is_absent ? others.at(name) : item)) {
      const Item given = is_absent ? stand_in(value, types_of_others[next++]) : value;
      if (fault_) break;
      const ValueId id = writer_.here(given.is_number() ? tensor_of_number(given) : given);
      side.graph->outputs.push_back({id, side.graph->name_of(id)});
    }
  }
  side.captured = writer_.close();
}

/// Makes the side take what the other one takes, too.
void Follower::take(Side& side, const Items& others, std::size_t first) {
  writer_.open(*side.graph, std::move(side.captured), first);
  for (const Item& item : others) writer_.here(item);
  side.captured = writer_.close();
}

/// Both branches as graphs of the same inputs; what they assign differently becomes results of the node.
void Follower::open_branch(const Statement& statement, const Item& condition, Variables& variables) {
  Side yes = follow_side(statement.body, variables), no = follow_side(statement.other, variables);
  if (fault_) return;
  std::vector<std::string_view> changed;
  std::size_t count = 0;
  for (const auto& [name, item] : yes.after) {
    const auto other = no.after.find(name);
    if (other == no.after.end() || is_same(item, other->second)) continue;
    if (!become_one(item, other->second)) {
      variables[name] = Item::of_kind(Kind::unknown);  // that is a fault where the code goes by it
      continue;
    }
    changed.push_back(name);
    count += values_in(item.kind == Kind::absent ? other->second : item).size();
  }
  const Variables of_yes = yes.after;
  const std::vector<ElementType> only_no = types_of_absent(no, changed, yes.after),
                                 only_yes = types_of_absent(yes, changed, no.after);
  give(yes, changed, no.after, only_no);
  give(no, changed, of_yes, only_yes);
  if (fault_) return;
  take(yes, no.captured);
  take(no, yes.captured);
  std::vector<ValueId> reordered;
  for (const Item& item : yes.captured) {
    const auto same = std::find_if(no.captured.begin(), no.captured.end(),
                                   [&](const Item& other) { return other.graph == item.graph && other.id == item.id; });
    reordered.push_back(no.graph->inputs[static_cast<std::size_t>(same - no.captured.begin())]);
  }
  no.graph->inputs = std::move(reordered);
  std::vector<Argument> arguments(4);
  arguments[0] = writer_.argument("pred", condition);
  arguments[1].content = std::move(yes.graph);
  arguments[2].content = std::move(no.graph);
  arguments[3] = writer_.argument("operands", Item::of_items(Kind::list, yes.captured));
  Items results = writer_.node_of_tensors("higher_order.cond", std::move(arguments), count);
  std::size_t next = 0, place = 0;
  for (const std::string_view name : changed) {
    const Item &of_one = of_yes.at(name), &of_other = no.after[name];
    const bool is_absent = of_one.kind == Kind::absent;
    const Items values = values_in(is_absent ? of_other : of_one);
    const Items others = is_absent || of_other.kind == Kind::absent ? values : values_in(of_other);
    for (std::size_t i = 0; i < values.size(); ++i, ++place)
      if (values[i].kind == others[i].kind) results[place] = number_of(results[place], values[i].kind);
    variables[name] = with_values(is_absent ? of_other : of_one, results, next);
  }
}

namespace {

/// Of the variables, those that statements assign, in the order of the code: what a pass of a loop gives to the next.
void add_assigned(const std::vector<Statement>& statements, const std::map<std::string_view, Item>& variables,
                  std::vector<std::string_view>& names) {
  for (const Statement& statement : statements) {
    for (const Expression& target : statement.targets) {
      const bool is_new = std::find(names.begin(), names.end(), target.text) == names.end();
      if (target.kind == Expression::Kind::name && is_new && variables.contains(target.text))
        names.push_back(target.text);
    }
    add_assigned(statement.body, variables, names);
    add_assigned(statement.other, variables, names);
  }
}

// What a loop over a range holds besides the variables of the code, whose names have no blanks.
constexpr std::string_view pass_name = "the pass", limit_name = "the limit";

}  // namespace

Item Follower::number_of(const Item& tensor, Kind kind) {
  if (kind == Kind::tensor) return tensor;
  return converted(kind == Kind::integer ? "prim.Int.Tensor"
                   : kind == Kind::real  ? "prim.Float.Tensor"
                                         : "prim.Bool.Tensor",
                   tensor, kind);
}

/// Opens the graph of a side, whose first inputs are what a pass is given.
void Follower::open_pass(Side& side, const std::vector<std::string_view>& names, const Items& carried) {
  writer_.open(*side.graph, {});
  std::size_t place = 0;
  for (const std::string_view name : names) {
    Items values;
    for (const Item& value : values_in(side.after[name])) {
      const ValueId id = side.graph->add_value(writer_.keep(name));
      side.graph->inputs.push_back(id);
      types().assume(*side.graph, id, carried[place++]);
      values.push_back(number_of(Item::of_value(Kind::tensor, *side.graph, id), value.kind));
    }
    std::size_t next = 0;
    side.after[name] = with_values(side.after[name], values, next);
  }
}

/// The code of a pass was followed for the type that the first one is given.
void Follower::check_type(std::string_view name, const Item& given, const Item& first, const Told& before) {
  if (told_.ranks == before.ranks || given.kind != Kind::tensor || given.is_known()) return;
  const auto now = types().sizes(given), then = types().sizes(first);
  const bool keeps_rank = now && then && now->size() == then->size();
  const bool has_same_sizes = now && then && *now == *then;
  if (!keeps_rank || (told_.sizes != before.sizes && !has_same_sizes))
    refuse(fmt::format("variable {} has other sizes behind a pass of a loop, whose code goes by them, than before",
                       quote(name)));
}

Follower::Side Follower::follow_condition(const Statement& statement, const std::vector<std::string_view>& names,
                                          const Variables& before, const Items& carried) {
  Side side{std::make_unique<Graph>(), before, {}, {}, {}};
  open_pass(side, names, carried);
  enter(false, before);
  const Item goes_on = statement.kind == Statement::Kind::while_loop
                           ? value_of(statement.value, side.after)
                           : aten("lt", {{{}, side.after[pass_name]}, {{}, side.after[limit_name]}});
  side.read = std::move(insides_.back().read);
  insides_.pop_back();
  if (!fault_) {
    const ValueId id = writer_.here(goes_on.is_number() ? tensor_of_number(goes_on) : goes_on);
    side.graph->outputs.push_back({id, side.graph->name_of(id)});
  }
  side.captured = writer_.close();
  return side;
}

Follower::Side Follower::follow_pass(const Statement& statement, const std::vector<std::string_view>& names,
                                     const Variables& before, const Items& carried) {
  Side side{std::make_unique<Graph>(), before, {}, {}, {}};
  open_pass(side, names, carried);
  enter(true, before);
  const Told told_before = told_;
  const bool is_range = statement.kind == Statement::Kind::for_loop;
  if (is_range && statement.targets.size() == 1) side.after[statement.targets.front().text] = side.after[pass_name];
  follow(statement.body, side.after);
  if (has_returned_) refuse("a loop whose number of passes only a run can tell returns");
  if (is_range && !fault_)
    side.after[pass_name] = aten("add", {{{}, side.after[pass_name]}, {{}, Item::of_integer(1)}});
  side.grown = std::move(insides_.back().grown);
  insides_.pop_back();
  const auto give_value = [&](const Item& item) {
    const ValueId id = writer_.here(item.is_number() ? tensor_of_number(item) : item);
    side.graph->outputs.push_back({id, side.graph->name_of(id)});
  };
  for (const auto& [name, item] : before) {
    if (!fault_ && item.kind == Kind::list && side.after[name].items != item.items)
      refuse(fmt::format("a loop, whose number of passes only a run can tell, gives {} another list", quote(name)));
  }
  std::size_t place = 0;
  for (const std::string_view name : names) {
    if (fault_) break;
    const Items values = values_in(side.after[name]), were = values_in(before.at(name));
    bool is_same_type = values.size() == were.size() && side.after[name].kind == before.at(name).kind;
    for (std::size_t i = 0; is_same_type && i < values.size(); ++i) is_same_type = values[i].kind == were[i].kind;
    if (!is_same_type)
      refuse(fmt::format("variable {} has another type behind a pass of a loop than before", quote(name)));
    for (std::size_t i = 0; !fault_ && i < values.size(); ++i) {
      check_type(name, values[i], carried[place++], told_before);
      give_value(values[i]);
    }
  }
  for (const Inside::Grown& grown : side.grown) {
    if (fault_) break;
    const Item given = given_in_pass(grown);
    if (!fault_) give_value(given);
  }
  side.captured = writer_.close();
  return side;
}

/// The condition and a pass as graphs of the same inputs: what a pass gives to the next, then what both take from outside.
void Follower::open_loop(const Statement& statement, const Item* limit, std::vector<std::string_view> names,
                         Variables& variables) {
  Variables before = variables;
  if (limit) {
    before[pass_name] = Item::of_integer(0);
    before[limit_name] = *limit;
    names.push_back(pass_name);
  }
  std::erase_if(names, [&](std::string_view name) { return before[name].kind == Kind::list; });
  Items carried;
  for (const std::string_view name : names) {
    for (const Item& item : values_in(before[name])) {
      if (!is_value(item))
        return void(
            refuse(fmt::format("a loop, whose number of passes only a run can tell, changes {}, which is neither "
                               "a tensor nor a number",
                               quote(name))));
      carried.push_back(item.is_number() ? tensor_of_number(item) : item);
    }
  }
  Side condition = follow_condition(statement, names, before, carried);
  Side pass = follow_pass(statement, names, before, carried);
  for (const Inside::Grown& grown : pass.grown)
    if (condition.read.contains(grown.list.get()))
      refuse("the condition of a loop depends on a list that the loop appends to");
  if (fault_) return;
  take(condition, pass.captured, carried.size());
  take(pass, condition.captured, carried.size());
  std::vector<ValueId> reordered(condition.graph->inputs.begin(),
                                 condition.graph->inputs.begin() + static_cast<std::ptrdiff_t>(carried.size()));
  for (const Item& item : pass.captured) {
    const auto same = std::find_if(condition.captured.begin(), condition.captured.end(),
                                   [&](const Item& other) { return other.graph == item.graph && other.id == item.id; });
    reordered.push_back(
        condition.graph->inputs[carried.size() + static_cast<std::size_t>(same - condition.captured.begin())]);
  }
  condition.graph->inputs = std::move(reordered);
  std::vector<Argument> arguments(4);
  arguments[0].content = std::move(condition.graph);
  arguments[1].content = std::move(pass.graph);
  arguments[2] = writer_.argument("carried", Item::of_items(Kind::list, carried));
  arguments[3] = writer_.argument("constants", Item::of_items(Kind::list, pass.captured));
  Items results =
      writer_.node_of_tensors("higher_order.while_loop", std::move(arguments), carried.size() + pass.grown.size());
  for (std::size_t i = 0; i < pass.grown.size(); ++i) gather(pass.grown[i], results[carried.size() + i]);
  std::size_t next = 0;
  for (const std::string_view name : names) {
    for (const Item& value : values_in(before[name])) {
      results[next] = number_of(results[next], value.kind);
      ++next;
    }
  }
  next = 0;
  for (const std::string_view name : names) {
    const Item after = with_values(before[name], results, next);
    if (name != pass_name) variables[name] = after;
  }
}

void Follower::loop(const Statement& statement, Variables& variables) {
  constexpr std::size_t most_passes = 10'000;
  std::vector<std::string_view> names;
  add_assigned(statement.body, variables, names);
  if (statement.kind == Statement::Kind::while_loop) {
    for (std::size_t pass = 0; pass < most_passes; ++pass) {
      const Item condition = value_of(statement.value, variables);
      if (fault_) return;
      if (!condition.is_known()) return open_loop(statement, nullptr, std::move(names), variables);
      if (!condition.is_number()) return void(refuse("the condition of a loop is not a boolean"));
      if (condition.as_real() == 0) return;
      follow(statement.body, variables);
      if (fault_ || has_returned_) return;
    }
    return void(refuse("a loop has too many passes to be unrolled"));
  }
  const bool is_range = statement.value.kind == Expression::Kind::call && statement.value.parts.size() == 2 &&
                        statement.value.parts.front().text == "range";
  if (is_range) {
    const Item limit = value_of(statement.value.parts[1], variables);
    if (fault_) return;
    if (!limit.is_known() && limit.kind == Kind::integer)
      return open_loop(statement, &limit, std::move(names), variables);
  }
  const Item range = with_parts(value_of(statement.value, variables));
  if (fault_) return;
  if (range.kind != Kind::list && range.kind != Kind::tuple)
    return void(refuse("a loop has a number of passes that only a run can tell"));
  note_read(range);
  const Items passes = *range.items;
  for (const Item& item : passes)
    if (item.kind == Kind::gathered) return void(refuse("a loop goes over a list whose length only a run can tell"));
  if (passes.size() > most_passes) return void(refuse("a loop has too many passes to be unrolled"));
  for (const Item& item : passes) {
    if (statement.targets.size() == 1) {
      variables[statement.targets.front().text] = item;
    } else {
      unpack(statement.targets, item, variables);
    }
    follow(statement.body, variables);
    if (fault_ || has_returned_) return;
  }
}

}  // namespace onnxkit::torchscript
