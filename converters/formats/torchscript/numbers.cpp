#include "converters/formats/torchscript/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libonnxkit/base/checked.h"

namespace onnxkit::torchscript {
namespace {

using Kind = Item::Kind;

bool are_integers(const Item& a, const Item& b) { return a.kind != Kind::real && b.kind != Kind::real; }

std::optional<Item> of_checked(std::optional<std::int64_t> value) {
  return value ? std::optional(Item::of_integer(*value)) : std::nullopt;
}

std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

std::optional<Item> quotient(std::string_view op, const Item& a, const Item& b) {
  if (b.as_real() == 0) return std::nullopt;
  if (op == "div") return Item::of_real(a.as_real() / b.as_real());
  if (!are_integers(a, b)) {
    const double whole = std::floor(a.as_real() / b.as_real());
    return Item::of_real(op == "floordiv" ? whole : a.as_real() - whole * b.as_real());
  }
  if (b.integer == -1)
    return of_checked(op == "floordiv" ? checked_sub<std::int64_t>(0, a.integer) : std::optional<std::int64_t>(0));
  const std::int64_t whole = floored(a.integer, b.integer);
  return Item::of_integer(op == "floordiv" ? whole : a.integer - whole * b.integer);
}

std::optional<Item> sum_of(std::string_view op, const Item& a, const Item& b) {
  if (are_integers(a, b))
    return of_checked(op == "add"   ? checked_add(a.integer, b.integer)
                      : op == "sub" ? checked_sub(a.integer, b.integer)
                                    : checked_mul(a.integer, b.integer));
  const double x = a.as_real(), y = b.as_real();
  return Item::of_real(op == "add" ? x + y : op == "sub" ? x - y : x * y);
}

std::optional<Item> compared(std::string_view op, const Item& a, const Item& b) {
  if (a.kind == Kind::text && b.kind == Kind::text) {
    if (op == "eq") return Item::of_boolean(a.text == b.text);
    return op == "ne" ? std::optional(Item::of_boolean(a.text != b.text)) : std::nullopt;
  }
  if (!a.is_number() || !b.is_number()) return std::nullopt;
  const double x = a.as_real(), y = b.as_real();
  if (op == "eq") return Item::of_boolean(x == y);
  if (op == "ne") return Item::of_boolean(x != y);
  if (op == "lt") return Item::of_boolean(x < y);
  if (op == "le") return Item::of_boolean(x <= y);
  if (op == "gt") return Item::of_boolean(x > y);
  return Item::of_boolean(x >= y);
}

std::optional<Item> of_two(std::string_view op, const Item& a, const Item& b) {
  if (op == "__is__" || op == "__isnot__") {
    if (a.kind != Kind::none && b.kind != Kind::none) return std::nullopt;
    return Item::of_boolean((a.kind == b.kind) == (op == "__is__"));
  }
  for (const std::string_view comparison : {"eq", "ne", "lt", "le", "gt", "ge"})
    if (op == comparison) return a.is_known() && b.is_known() ? compared(op, a, b) : std::nullopt;
  if (!a.is_known() || !b.is_known() || !a.is_number() || !b.is_number()) return std::nullopt;
  if (op == "add" || op == "sub" || op == "mul") return sum_of(op, a, b);
  if (op == "div" || op == "floordiv" || op == "floor_divide" || op == "remainder")
    return quotient(op == "floor_divide" ? "floordiv" : op, a, b);
  if (op == "__and__" && a.kind == Kind::boolean) return Item::of_boolean(a.integer != 0 && b.integer != 0);
  if (op == "__or__" && a.kind == Kind::boolean) return Item::of_boolean(a.integer != 0 || b.integer != 0);
  return std::nullopt;
}

bool is_sequence(const Item& item) { return item.kind == Kind::list || item.kind == Kind::tuple; }

std::optional<Item> item_of(const Item& list, const Item& index) {
  if (list.kind == Kind::dict) {
    for (std::size_t i = 0; i + 1 < list.items->size(); i += 2) {
      const auto same = compared("eq", (*list.items)[i], index);
      if (same && same->integer != 0) return (*list.items)[i + 1];
    }
    return std::nullopt;
  }
  if (!is_sequence(list) || index.kind != Kind::integer || !index.is_known()) return std::nullopt;
  const auto size = static_cast<std::int64_t>(list.items->size());
  const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
  if (at < 0 || at >= size) return std::nullopt;
  return (*list.items)[static_cast<std::size_t>(at)];
}

std::optional<Item> of_lists(std::string_view op, std::span<const Item> operands) {
  const Item& list = operands[0];
  if (op == "len" && is_sequence(list)) return Item::of_integer(static_cast<std::int64_t>(list.items->size()));
  if (op == "list" && is_sequence(list)) return Item::of_items(Kind::list, *list.items);
  if (operands.size() < 2) return std::nullopt;
  if (op == "__getitem__") return item_of(list, operands[1]);
  if (op == "add" && is_sequence(list) && operands[1].kind == list.kind) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (list.items->size() + operands[1].items->size() > most) return std::nullopt;
    Items both = *list.items;
    both.insert(both.end(), operands[1].items->begin(), operands[1].items->end());
    return Item::of_items(list.kind, std::move(both));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Item> known_result(std::string_view op, std::span<const Item> operands) {
  if (operands.empty()) return std::nullopt;
  if (auto item = of_lists(op, operands)) return item;
  const Item& first = operands.front();
  if (op == "__not__" && first.is_known() && first.is_number()) return Item::of_boolean(first.as_real() == 0);
  if (op == "neg" && first.is_known() && first.kind == Kind::integer)
    return of_checked(checked_sub<std::int64_t>(0, first.integer));
  if (op == "neg" && first.is_known() && first.kind == Kind::real) return Item::of_real(-first.real);
  return operands.size() >= 2 ? of_two(op, first, operands[1]) : std::nullopt;
}

std::string_view number_operator(std::string_view op) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 17> operators = {{
      {"add", "_operator.add"},
      {"sub", "_operator.sub"},
      {"mul", "_operator.mul"},
      {"floordiv", "_operator.floordiv"},
      {"floor_divide", "_operator.floordiv"},
      {"div", "_operator.truediv"},
      {"remainder", "_operator.mod"},
      {"neg", "_operator.neg"},
      {"eq", "_operator.eq"},
      {"ne", "_operator.ne"},
      {"lt", "_operator.lt"},
      {"le", "_operator.le"},
      {"gt", "_operator.gt"},
      {"ge", "_operator.ge"},
      {"pow", "_operator.pow"},
      {"min", "torch.sym_min"},
      {"max", "torch.sym_max"},
  }};
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const auto& row) { return row.first == op; });
  return found == operators.end() ? std::string_view() : found->second;
}

}  // namespace onnxkit::torchscript
