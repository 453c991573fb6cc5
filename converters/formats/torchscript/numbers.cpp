#include "converters/formats/torchscript/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "converters/formats/torchscript/lists.h"
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
  if ((a.kind == Kind::text && b.kind == Kind::text) || (a.kind == Kind::device && b.kind == Kind::device)) {
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

/// Integers as rows of bits. Shifts that lose bits or go too far are not computed.
std::optional<Item> of_bits(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "__and__") return Item::of_integer(a & b);
  if (op == "__or__") return Item::of_integer(a | b);
  if (op == "__xor__") return Item::of_integer(a ^ b);
  constexpr std::int64_t most = 62;
  if ((op != "__lshift__" && op != "__rshift__") || b < 0 || b > most) return std::nullopt;
  return op == "__rshift__" ? Item::of_integer(a >> b) : of_checked(checked_mul<std::int64_t>(a, std::int64_t{1} << b));
}

std::optional<Item> of_two(std::string_view op, const Item& a, const Item& b) {
  if (op == "__is__" || op == "__isnot__") {
    if (a.kind == Kind::boolean && b.kind == Kind::boolean && a.is_known() && b.is_known())
      return Item::of_boolean((a.integer == b.integer) == (op == "__is__"));
    for (const Item* operand : {&a, &b})
      if (operand->kind == Kind::unknown || operand->kind == Kind::absent) return std::nullopt;
    if (a.kind != Kind::none && b.kind != Kind::none) return std::nullopt;
    return Item::of_boolean((a.kind == b.kind) == (op == "__is__"));
  }
  constexpr std::size_t longest = 1 << 16;
  const bool are_texts = a.kind == Kind::text && b.kind == Kind::text;
  if (op == "add" && are_texts && a.text.size() + b.text.size() < longest) return Item::of_text(a.text + b.text);
  for (const std::string_view comparison : {"eq", "ne", "lt", "le", "gt", "ge"})
    if (op == comparison) return a.is_known() && b.is_known() ? compared(op, a, b) : std::nullopt;
  if (!a.is_known() || !b.is_known() || !a.is_number() || !b.is_number()) return std::nullopt;
  if (op == "add" || op == "sub" || op == "mul") return sum_of(op, a, b);
  if (op == "div" || op == "floordiv" || op == "floor_divide" || op == "remainder")
    return quotient(op == "floor_divide" ? "floordiv" : op, a, b);
  if (op == "min" || op == "max") return (a.as_real() < b.as_real()) == (op == "min") ? a : b;
  if (op == "pow") return Item::of_real(std::pow(a.as_real(), b.as_real()));  // of integers, too
  if (op == "fmod" && b.as_real() != 0) return Item::of_real(std::fmod(a.as_real(), b.as_real()));
  if (op == "__and__" && a.kind == Kind::boolean) return Item::of_boolean(a.integer != 0 && b.integer != 0);
  if (op == "__or__" && a.kind == Kind::boolean) return Item::of_boolean(a.integer != 0 || b.integer != 0);
  if (op == "__xor__" && a.kind == Kind::boolean) return Item::of_boolean((a.integer != 0) != (b.integer != 0));
  const bool are_integral = a.kind == Kind::integer && b.kind == Kind::integer;
  return are_integral ? of_bits(op, a.integer, b.integer) : std::nullopt;
}

/// Functions of Python's module math. Those that round give integers.
std::optional<Item> of_real_function(std::string_view op, double x) {
  constexpr std::array<std::pair<std::string_view, double (*)(double)>, 8> functions = {{{"sqrt", std::sqrt},
                                                                                         {"exp", std::exp},
                                                                                         {"log", std::log},
                                                                                         {"log2", std::log2},
                                                                                         {"sin", std::sin},
                                                                                         {"cos", std::cos},
                                                                                         {"tanh", std::tanh},
                                                                                         {"log10", std::log10}}};
  for (const auto& [name, function] : functions)
    if (op == name) return Item::of_real(function(x));
  constexpr double most = 0x1p62;
  if ((op != "floor" && op != "ceil") || !(std::abs(x) < most)) return std::nullopt;
  return Item::of_integer(static_cast<std::int64_t>(op == "floor" ? std::floor(x) : std::ceil(x)));
}

/// A text with known texts and integers in its places.
std::optional<Item> formatted(std::span<const Item> operands) {
  std::string text;
  std::string_view rest = operands[0].text;
  for (const Item& item : operands.subspan(1)) {
    const std::size_t place = rest.find("{}");
    const bool is_text = item.kind == Kind::text, is_integer = item.kind == Kind::integer && item.is_known();
    constexpr std::size_t longest = 1 << 16;
    if (place == std::string_view::npos || (!is_text && !is_integer) || text.size() > longest) return std::nullopt;
    text += rest.substr(0, place);
    text += is_text ? item.text : std::to_string(item.integer);
    rest.remove_prefix(place + 2);
  }
  return Item::of_text(text + std::string(rest));
}

/// What str() gives; of real numbers that has digits of its own.
std::optional<Item> text_of(const Item& item) {
  if (item.kind == Kind::text) return item;
  if (item.kind == Kind::boolean && item.is_known()) return Item::of_text(item.integer != 0 ? "True" : "False");
  return item.kind == Kind::integer && item.is_known() ? std::optional(Item::of_text(std::to_string(item.integer)))
                                                       : std::nullopt;
}

}  // namespace

std::optional<Item> known_result(std::string_view op, std::span<const Item> operands) {
  if (operands.empty()) return std::nullopt;
  if (auto item = list_result(op, operands)) return item;
  const Item& first = operands.front();
  if (op == "len" && first.kind == Kind::text) return Item::of_integer(static_cast<std::int64_t>(first.text.size()));
  if (op == "str") return text_of(first);
  if (op == "format" && first.kind == Kind::text) return formatted(operands);
  if (op == "__not__" && first.is_known() && first.is_number()) return Item::of_boolean(first.as_real() == 0);
  if (op == "neg" && first.is_known() && first.kind == Kind::integer)
    return of_checked(checked_sub<std::int64_t>(0, first.integer));
  if (operands.size() == 1 && first.is_known() && first.is_number())
    if (auto item = of_real_function(op, first.as_real())) return item;
  if (op == "abs" && first.is_known() && first.kind == Kind::integer)
    return first.integer < 0 ? of_checked(checked_sub<std::int64_t>(0, first.integer)) : first;
  if (op == "neg" && first.is_known() && first.kind == Kind::real) return Item::of_real(-first.real);
  return operands.size() >= 2 ? of_two(op, first, operands[1]) : std::nullopt;
}

std::string_view number_operator(std::string_view op) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 23> operators = {{
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
      {"abs", "_operator.abs"},
      {"floor", "math.floor"},
      {"ceil", "math.ceil"},
      {"sqrt", "math.sqrt"},
      {"exp", "math.exp"},
      {"log", "math.log"},
      {"min", "torch.sym_min"},
      {"max", "torch.sym_max"},
  }};
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const auto& row) { return row.first == op; });
  return found == operators.end() ? std::string_view() : found->second;
}

}  // namespace onnxkit::torchscript
