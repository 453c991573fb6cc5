#include "converters/formats/torchscript/lists.h"

#include <algorithm>
#include <array>

#include "converters/formats/torchscript/numbers.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::torchscript {
namespace {

using Kind = Item::Kind;

constexpr std::size_t most_items = std::size_t{1} << 20;

std::optional<bool> are_equal(const Item& a, const Item& b) {
  if (a.items || b.items) return std::nullopt;  // a list may hold itself
  const auto same = known_result("eq", std::array{a, b});
  return same ? std::optional(same->integer != 0) : std::nullopt;
}

/// The place of an index, which counts from behind where it is negative; nothing beyond the ends.
std::optional<std::size_t> place_of(const Items& items, const Item& index) {
  if (index.kind != Kind::integer || !index.is_known()) return std::nullopt;
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
  return at < 0 || at >= size ? std::nullopt : std::optional(static_cast<std::size_t>(at));
}

/// The place of the key of a dictionary, its size where it has none; nothing when that is not known.
std::optional<std::size_t> place_of_key(const Items& pairs, const Item& key) {
  std::size_t i = 0;
  for (; i + 1 < pairs.size(); i += 2) {
    const auto same = are_equal(pairs[i], key);
    if (!same) return std::nullopt;
    if (*same) break;
  }
  return i;
}

std::optional<Item> item_of(const Item& list, const Item& index) {
  if (list.kind == Kind::dict) {
    const auto at = place_of_key(*list.items, index);
    return at && *at < list.items->size() ? std::optional((*list.items)[*at + 1]) : std::nullopt;
  }
  const auto at = is_sequence(list) ? place_of(*list.items, index) : std::nullopt;
  return at ? std::optional((*list.items)[*at]) : std::nullopt;
}

/// Whether a list has an item, or a dictionary a key.
std::optional<Item> contained(const Item& list, const Item& wanted) {
  if (list.kind == Kind::dict) {
    const auto at = place_of_key(*list.items, wanted);
    return at ? std::optional(Item::of_boolean(*at < list.items->size())) : std::nullopt;
  }
  if (!is_sequence(list)) return std::nullopt;
  for (const Item& item : *list.items) {
    const auto same = are_equal(item, wanted);
    if (!same || *same) return same ? std::optional(Item::of_boolean(true)) : std::nullopt;
  }
  return Item::of_boolean(false);
}

/// list[start:end:step]; absent bounds are None.
std::optional<Item> sliced(std::span<const Item> operands) {
  const Items& items = *operands[0].items;
  const auto size = static_cast<std::int64_t>(items.size());
  const bool is_backwards = operands.size() > 3 && operands[3].kind == Kind::integer && operands[3].integer < 0;
  const std::int64_t lowest = is_backwards ? -1 : 0, highest = is_backwards ? size - 1 : size;
  std::int64_t bounds[] = {is_backwards ? highest : lowest, is_backwards ? lowest : highest, 1};
  for (std::size_t i = 1; i < operands.size() && i <= 3; ++i) {
    if (operands[i].kind == Kind::none) continue;
    if (operands[i].kind != Kind::integer || !operands[i].is_known()) return std::nullopt;
    const std::int64_t given = operands[i].integer;
    bounds[i - 1] = i == 3 ? given : std::clamp<std::int64_t>(given < 0 ? given + size : given, lowest, highest);
  }
  if (bounds[2] == 0) return std::nullopt;
  Items part;
  if (is_backwards)
    for (std::int64_t i = bounds[0]; i > bounds[1]; i += std::max(bounds[2], -size - 1))
      part.push_back(items[static_cast<std::size_t>(i)]);
  for (std::int64_t i = bounds[0]; i < bounds[1]; i += std::min(bounds[2], size))
    part.push_back(items[static_cast<std::size_t>(i)]);
  return Item::of_items(operands[0].kind, std::move(part));
}

/// Keys, values or pairs of both.
std::optional<Item> of_dictionary(std::string_view op, const Items& pairs) {
  Items items;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    items.push_back(op == "keys"     ? pairs[i]
                    : op == "values" ? pairs[i + 1]
                                     : Item::of_items(Kind::tuple, {pairs[i], pairs[i + 1]}));
  return Item::of_items(Kind::list, std::move(items));
}

/// Whether all of the booleans are true, or any.
std::optional<Item> of_booleans(std::string_view op, const Items& items) {
  bool result = op == "all";
  for (const Item& item : items) {
    if (!item.is_known() || !item.is_number()) return std::nullopt;
    if ((item.as_real() != 0) != (op == "all")) result = op == "any";
  }
  return Item::of_boolean(result);
}

/// The sum, the least or the greatest of numbers.
std::optional<Item> reduced(std::string_view op, const Items& items) {
  if (items.empty()) return op == "sum" ? std::optional(Item::of_integer(0)) : std::nullopt;
  Item result = items.front();
  if (!result.is_known() || !result.is_number()) return std::nullopt;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto next = known_result(op == "sum" ? "add" : op, std::array{result, items[i]});
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

std::optional<Item> repeated(const Item& list, const Item& times) {
  if (!times.is_known() || times.kind != Kind::integer) return std::nullopt;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times.integer, 0));
  if (count > most_items || list.items->size() * count > most_items) return std::nullopt;
  Items items;
  for (std::size_t i = 0; i < count; ++i) items.insert(items.end(), list.items->begin(), list.items->end());
  return Item::of_items(list.kind, std::move(items));
}

std::optional<Item> of_two_lists(std::string_view op, const Item& a, const Item& b) {
  if (op == "add") {
    if (a.items->size() + b.items->size() > most_items) return std::nullopt;
    Items both = *a.items;
    both.insert(both.end(), b.items->begin(), b.items->end());
    return Item::of_items(a.kind, std::move(both));
  }
  if (op != "eq" && op != "ne") return std::nullopt;
  bool same = a.items->size() == b.items->size();
  for (std::size_t i = 0; same && i < a.items->size(); ++i) {
    const auto equal = are_equal((*a.items)[i], (*b.items)[i]);
    if (!equal) return std::nullopt;
    same = *equal;
  }
  return Item::of_boolean(same == (op == "eq"));
}

/// A dictionary of pairs.
std::optional<Item> of_pairs(const Items& pairs) {
  Item made = Item::of_items(Kind::dict, {});
  for (const Item& pair : pairs)
    if (!is_sequence(pair) || pair.items->size() != 2 || !set_item(made, (*pair.items)[0], (*pair.items)[1]))
      return std::nullopt;
  return made;
}

/// A list of numbers or of texts in order.
std::optional<Item> in_order(const Items& items) {
  const bool are_texts =
      std::all_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Kind::text; });
  const bool are_known = std::all_of(items.begin(), items.end(), [](const Item& item) {
    return item.is_number() && item.is_known() && item.as_real() == item.as_real();
  });
  if (!are_texts && !are_known) return std::nullopt;
  Items sorted = items;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Item& a, const Item& b) {
    if (are_texts) return a.text < b.text;
    return a.kind == Kind::real || b.kind == Kind::real ? a.as_real() < b.as_real() : a.integer < b.integer;
  });
  return Item::of_items(Kind::list, std::move(sorted));
}

}  // namespace

bool is_sequence(const Item& item) { return item.kind == Kind::list || item.kind == Kind::tuple; }

std::optional<Item> list_result(std::string_view op, std::span<const Item> operands) {
  const Item& list = operands[0];
  if (list.kind == Kind::dict) {
    if (op == "len") return Item::of_integer(static_cast<std::int64_t>(list.items->size() / 2));
    if (op == "keys" || op == "values" || op == "items") return of_dictionary(op, *list.items);
    if (op == "copy" || op == "dict") return Item::of_items(Kind::dict, *list.items);
  } else if (is_sequence(list)) {
    if (op == "len") return Item::of_integer(static_cast<std::int64_t>(list.items->size()));
    if (op == "dict" && operands.size() == 1) return of_pairs(*list.items);
    if (op == "sorted" && operands.size() == 1) return in_order(*list.items);
    if (op == "list" || op == "copy") return Item::of_items(Kind::list, *list.items);
    if (op == "slice") return sliced(operands);
    if ((op == "all" || op == "any") && operands.size() == 1) return of_booleans(op, *list.items);
    if (op == "sum" || op == "min" || op == "max")
      return operands.size() == 1 ? reduced(op, *list.items) : std::nullopt;
  }
  if (operands.size() < 2) return std::nullopt;
  if (op == "__getitem__") return item_of(list, operands[1]);
  if (op == "__contains__") return contained(list, operands[1]);
  if (!is_sequence(list)) return std::nullopt;
  if (operands[1].kind == list.kind) return of_two_lists(op, list, operands[1]);
  return op == "mul" ? repeated(list, operands[1]) : std::nullopt;
}

std::optional<Item> changed_list(std::string_view op, std::span<const Item> operands) {
  Items& items = *operands[0].items;
  const auto at = [&](std::size_t operand, std::int64_t fallback) {
    return place_of(items, operand < operands.size() ? operands[operand] : Item::of_integer(fallback));
  };
  if (op == "sort" && operands.size() == 1) {
    auto sorted = in_order(items);
    if (!sorted) return std::nullopt;
    items = *sorted->items;
  } else if (op == "reverse") {
    std::reverse(items.begin(), items.end());
  } else if (op == "clear") {
    items.clear();
  } else if (op == "pop") {
    const auto place = at(1, -1);
    if (!place) return std::nullopt;
    Item taken = items[*place];
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*place));
    return taken;
  } else if (op == "insert" && operands.size() == 3 && operands[1].kind == Kind::integer && operands[1].is_known()) {
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t given = operands[1].integer < 0 ? operands[1].integer + size : operands[1].integer;
    if (items.size() >= most_items) return std::nullopt;
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(given, 0, size)), operands[2]);
  } else {
    return std::nullopt;
  }
  return operands[0];
}

bool set_item(const Item& container, const Item& key, const Item& value) {
  Items& items = *container.items;
  if (container.kind == Kind::list) {
    const auto at = place_of(items, key);
    if (at) items[*at] = value;
    return at.has_value();
  }
  const auto at = place_of_key(items, key);
  if (!at || items.size() + 2 > most_items) return false;
  if (*at < items.size()) {
    items[*at + 1] = value;
  } else {
    items.push_back(key);
    items.push_back(value);
  }
  return true;
}

}  // namespace onnxkit::torchscript
