// Lists that get longer: where the code appends, and lists whose length only a run can tell.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"
#include "converters/formats/torchscript/lists.h"

namespace onnxkit::torchscript {
namespace {

using foreign::ValueId;
using Kind = Item::Kind;

bool is_gathered(const Item& list) {
  return list.kind == Kind::list && std::any_of(list.items->begin(), list.items->end(),
                                                [](const Item& item) { return item.kind == Kind::gathered; });
}

Item as_tensor(const Item& gathered) { return Item::of_value(Kind::tensor, *gathered.graph, gathered.id); }

void add_lists(const Item& item, std::set<const Items*>& lists) {
  std::vector<const Item*> left = {&item};
  while (!left.empty()) {
    const Item& next = *left.back();
    left.pop_back();
    if (!next.items || !lists.insert(next.items.get()).second) continue;
    for (const Item& part : *next.items) left.push_back(&part);
  }
}

}  // namespace

/// One after the other, as lists may hold one another to any depth.
Follower::~Follower() {
  for (const std::shared_ptr<Items>& list : lists_) list->clear();
}

Item Follower::kept(Item container) {
  if (container.items) lists_.insert(container.items);
  return container;
}

void Follower::enter(bool is_pass, const Variables& variables) {
  Inside& inside = insides_.emplace_back();
  inside.is_pass = is_pass;
  for (const auto& [name, item] : variables) add_lists(item, inside.outer);
}

void Follower::note_read(const Item& item) {
  if (item.kind != Kind::list) return;
  for (Inside& inside : insides_) {
    if (!inside.outer.contains(item.items.get())) continue;
    inside.read.insert(item.items.get());
    const bool is_grown = std::any_of(inside.grown.begin(), inside.grown.end(),
                                      [&](const Inside::Grown& grown) { return grown.list == item.items; });
    if (is_grown) refuse("a loop, whose number of passes only a run can tell, reads a list that it appends to");
  }
}

/// What changes a list or a dictionary in place, other than by appending.
std::optional<Item> Follower::replace(std::string_view name, const Items& items) {
  const bool sets = name == "_set_item" && items.size() == 3;
  if ((!sets && !changes_list(name)) || items.empty()) return std::nullopt;
  const Item& container = items[0];
  if (container.kind != Kind::list && (container.kind != Kind::dict || !sets)) return std::nullopt;
  if (stored_lists_.contains(container.items)) return refuse("the model changes a list that is an attribute");
  for (const Inside& inside : insides_)
    if (inside.outer.contains(container.items.get()))
      return refuse("a branch or loop that only a run decides changes an item of a list");
  if (!sets) {
    kept(container);
    auto changed = changed_list(name, items);
    return changed
               ? *std::move(changed)
               : refuse(fmt::format("an operand of {} is not known, or lies beyond the ends of the list", quote(name)));
  }
  if (!set_item(kept(container), items[1], items[2]))
    return refuse("an item of a list changes whose place is not known, or lies beyond its ends");
  return container;
}

/// What a pass appends to a list from outside is gathered behind the loop.
std::optional<Item> Follower::grow(std::string_view name, const Items& items) {
  const bool appends = name == "append", extends = name == "add_" || name == "extend";
  if ((!appends && !extends) || items.size() != 2 || items[0].kind != Kind::list) return std::nullopt;
  if (extends && items[1].kind != Kind::list) return std::nullopt;
  const Items added = appends ? Items{items[1]} : *items[1].items;
  const std::shared_ptr<Items>& list = items[0].items;
  constexpr std::size_t most = std::size_t{1} << 20;
  if (added.size() + list->size() > most) {
    fail(make_error("memory-limit", "a list of the model is too long"));
    return Item();
  }
  if (stored_lists_.contains(list)) return refuse("the model changes a list that is an attribute");
  if (extends) note_read(items[1]);
  if (insides_.empty() || !insides_.back().outer.contains(list.get())) {
    list->insert(list->end(), added.begin(), added.end());
    return kept(items[0]);
  }
  Inside& inside = insides_.back();
  if (!inside.is_pass) return refuse("a branch on a computed condition changes a list");
  if (inside.read.contains(list.get()))
    return refuse("a loop, whose number of passes only a run can tell, reads a list that it appends to");
  auto grown = std::find_if(inside.grown.begin(), inside.grown.end(),
                            [&](const Inside::Grown& known) { return known.list == list; });
  if (grown == inside.grown.end()) grown = inside.grown.insert(grown, {list, {}});
  grown->added.insert(grown->added.end(), added.begin(), added.end());
  return items[0];
}

/// What a pass gives for a list: one tensor. Nothing is given in a pass that adds nothing.
Item Follower::given_in_pass(const Inside::Grown& grown) {
  for (const Item& item : grown.added)
    if (item.kind != Kind::tensor)
      return refuse(
          "a loop, whose number of passes only a run can tell, appends something else than tensors to a list");
  if (grown.added.size() == 1) return grown.added.front();
  return aten("stack", {{{}, Item::of_items(Kind::list, grown.added)}, {{}, Item::of_integer(0)}});
}

/// Behind the loop the list has all that the passes gave.
void Follower::gather(const Inside::Grown& grown, Item all) {
  for (const Inside& inside : insides_)
    if (inside.outer.contains(grown.list.get())) return void(refuse("loops inside of one another append to one list"));
  if (grown.added.size() > 1) all = aten("flatten", {{{}, all}, {{}, Item::of_integer(0)}, {{}, Item::of_integer(1)}});
  all.kind = Kind::gathered;
  grown.list->push_back(std::move(all));
}

/// Operators on lists whose length only a run can tell.
std::optional<Item> Follower::of_gathered(std::string_view name, const Items& items) {
  if (!items.empty() && items[0].kind == Kind::unsplit) return of_unbound(name, items);
  if (std::none_of(items.begin(), items.end(), is_gathered) || name == "add" || name == "list") return std::nullopt;
  if (!is_gathered(items[0])) return refuse(fmt::format("{} is given a list whose length only a run can tell", name));
  const Items& parts = *items[0].items;
  const Item at = items.size() > 1 ? items[1] : Item::of_integer(0);
  if ((name == "stack" || name == "cat" || name == "concat") && at.is_known() && at.kind == Kind::integer)
    return joined(parts, name == "stack", at.integer);
  if (name == "len") {
    Item length = Item::of_integer(0);
    for (const Item& part : parts)
      length =
          aten("add", {{{}, length},
                       {{},
                        part.kind == Kind::gathered ? aten("size", {{{}, as_tensor(part)}, {{}, Item::of_integer(0)}})
                                                    : Item::of_integer(1)}});
    return length;
  }
  if (name == "__getitem__" && at.kind == Kind::integer) {
    const bool is_last = at.is_known() && at.integer == -1;
    if (is_last && parts.back().kind != Kind::gathered) return parts.back();
    if (parts.size() == 1 || is_last)
      return aten("select", {{{}, as_tensor(parts.back())}, {{}, Item::of_integer(0)}, {{}, at}});
  }
  return refuse(fmt::format("{} is given a list whose length only a run can tell", name));
}

Item Follower::joined(const Items& parts, bool stacks, std::int64_t axis) {
  const auto number = [](std::int64_t value) { return NamedItem{{}, Item::of_integer(value)}; };
  Items tensors;
  for (const Item& part : parts) {
    Item tensor = part.kind == Kind::gathered ? as_tensor(part) : part;
    if (stacks && part.kind != Kind::gathered) tensor = aten("unsqueeze", {{{}, tensor}, number(0)});
    if (!stacks && part.kind == Kind::gathered) {
      // The axis of the passes goes in front of that along which the tensors are joined.
      const std::int64_t front = axis < 0 ? axis - 1 : axis;
      if (front != 0) tensor = aten("movedim", {{{}, tensor}, number(0), number(front)});
      tensor = aten("flatten", {{{}, tensor}, number(front), number(front + 1)});
    }
    tensors.push_back(std::move(tensor));
  }
  const std::int64_t along = stacks ? 0 : axis;
  Item whole = tensors.size() == 1 ? tensors.front()
                                   : aten("cat", {{{}, Item::of_items(Kind::list, std::move(tensors))}, number(along)});
  return stacks && axis != 0 ? aten("movedim", {{{}, whole}, number(0), number(axis)}) : whole;
}

/// How many tensors an operator that takes one apart gives, where the sizes tell.
std::optional<std::int64_t> Follower::part_count(const Item& unsplit) {
  const foreign::Node& node = unsplit.graph->nodes[unsplit.node];
  const foreign::Argument *self = node.find("self"), *dim = node.find("dim"), *all = node.find("tensors");
  const bool gives_each = node.op.starts_with("aten.meshgrid.") || node.op.starts_with("aten.broadcast_tensors.");
  if (gives_each && all && all->as<foreign::Argument::List>())
    return static_cast<std::int64_t>(all->as<foreign::Argument::List>()->size());
  if (!self || !self->as<ValueId>() || (dim && !dim->as<std::int64_t>())) return std::nullopt;
  const foreign::Argument* lengths = node.find(node.op == "aten.split.sizes" ? "split_size" : "split_sizes");
  if (lengths)
    return lengths->as<foreign::Argument::List>()
               ? std::optional(static_cast<std::int64_t>(lengths->as<foreign::Argument::List>()->size()))
               : std::nullopt;
  const auto sizes = types().sizes(Item::of_value(Kind::tensor, *unsplit.graph, *self->as<ValueId>()));
  if (!sizes) return std::nullopt;
  ++told_.ranks, ++told_.sizes;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  std::int64_t axis = dim ? *dim->as<std::int64_t>() : 0;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || (*sizes)[static_cast<std::size_t>(axis)] < 0) return std::nullopt;
  const std::int64_t size = (*sizes)[static_cast<std::size_t>(axis)];
  if (node.op == "aten.unbind.int") return size;
  const foreign::Argument* given = node.find(node.op == "aten.split.Tensor" ? "split_size" : "chunks");
  const auto* number = given ? given->as<std::int64_t>() : nullptr;
  if (!number || *number < 1 || size < 1) return std::nullopt;
  if (node.op == "aten.split.Tensor") return (size - 1) / *number + 1;
  if (node.op != "aten.chunk.default") return std::nullopt;
  return (size - 1) / ((size - 1) / *number + 1) + 1;
}

/// A list that a node gives as its tensors, where their number is known.
Item Follower::with_parts(const Item& item) {
  if (item.kind != Kind::unsplit) return item;
  const auto known = parts_.find({item.graph, item.node});
  if (known != parts_.end()) return known->second;
  constexpr std::int64_t most = 10'000;
  const auto count = part_count(item);
  if (!count || *count > most) return item;
  Item list = kept(Item::of_items(Kind::list, writer_.split(item, static_cast<std::size_t>(*count))));
  parts_.emplace(std::pair(item.graph, item.node), list);
  // Where the node lies outside of a branch or loop, so does its list.
  const auto frames = writer_.frames();
  const auto owner = std::find_if(frames.begin(), frames.end(),
                                  [&](const GraphWriter::Frame& frame) { return frame.graph == item.graph; });
  for (auto i = static_cast<std::size_t>(owner - frames.begin()); i < insides_.size(); ++i)
    insides_[i].outer.insert(list.items.get());
  return list;
}

/// Of booleans that only a run knows.
std::optional<Item> Follower::of_booleans(std::string_view name, const Items& items) {
  const std::string_view op = name == "__not__"   ? "logical_not"
                              : name == "__and__" ? "logical_and"
                              : name == "__or__"  ? "logical_or"
                              : name == "__xor__" ? "logical_xor"
                                                  : "";
  const bool are_booleans =
      std::all_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Kind::boolean; });
  if (op.empty() || items.empty() || !are_booleans) return std::nullopt;
  std::vector<NamedItem> tensors;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_known() && items.size() == 2 && name != "__xor__")
      return (items[i].integer != 0) == (name == "__and__") ? items[1 - i] : items[i];
    tensors.push_back({{}, tensor_of_number(items[i])});
  }
  return number_of(aten(op, tensors), Kind::boolean);
}

/// Lists of numbers of which only a run knows some.
std::optional<Item> Follower::compared_lists(std::string_view name, const Items& items) {
  if ((name != "eq" && name != "ne") || items.size() != 2 || items[0].kind != Kind::list || items[1].kind != Kind::list)
    return std::nullopt;
  const Items &a = *items[0].items, &b = *items[1].items;
  if (!are_numbers(a) || !are_numbers(b)) return Item::of_kind(Kind::unknown);
  Item same = Item::of_boolean(true);
  for (std::size_t i = 0; i < a.size() && !fault_; ++i)
    same = aten("__and__", {{{}, same}, {{}, aten("eq", {{{}, a[i]}, {{}, b[i]}})}});
  return name == "eq" ? same : aten("__not__", {{{}, same}});
}

/// What a loop over a range with a start or a step is written as: its length, and the number of a pass from its place.
std::optional<Item> Follower::of_range(std::string_view name, const Items& items) {
  if (items.size() != 3 || !are_numbers(items) || !items[2].is_known()) return std::nullopt;
  if (name == "__derive_index")
    return aten("add", {{{}, items[1]}, {{}, aten("mul", {{{}, items[0]}, {{}, items[2]}})}});
  const std::int64_t step = items[2].integer;
  if (name != "__range_length" || step == 0) return std::nullopt;
  // The quotient of the distance and the step, rounded up, and 0 where the end lies before the start.
  const Item distance = aten("sub", {{{}, items[step > 0 ? 1 : 0]}, {{}, items[step > 0 ? 0 : 1]}});
  const std::int64_t size = step > 0 ? step : -std::max(step, -std::numeric_limits<std::int64_t>::max());
  const Item padded = aten("add", {{{}, distance}, {{}, Item::of_integer(size - 1)}});
  const Item length = aten("floordiv", {{{}, padded}, {{}, Item::of_integer(size)}});
  return aten("max", {{{}, length}, {{}, Item::of_integer(0)}});
}

/// A tensor that was taken apart along an axis, as many times as a run finds.
std::optional<Item> Follower::of_unbound(std::string_view name, const Items& items) {
  const foreign::Node& node = items[0].graph->nodes[items[0].node];
  if (node.op != "aten.unbind.int" || (name != "len" && name != "__getitem__")) return std::nullopt;
  const foreign::Argument *self = node.find("self"), *dim = node.find("dim");
  if (!self || !self->as<ValueId>() || (dim && !dim->as<std::int64_t>())) return std::nullopt;
  const NamedItem whole{{}, Item::of_value(Kind::tensor, *items[0].graph, *self->as<ValueId>())};
  const NamedItem axis{{}, Item::of_integer(dim ? *dim->as<std::int64_t>() : 0)};
  if (name == "len") return aten("size", {whole, axis});
  if (items.size() != 2 || items[1].kind != Kind::integer) return std::nullopt;
  return aten("select", {whole, axis, {{}, items[1]}});
}

}  // namespace onnxkit::torchscript
