// Cast, CastLike, BitCast: other element type, same shape. Cast names its target until version 5 and numbers it from 6; strings come with 9,
// `saturate` with the float8 types of 19, `round_mode` with float8e8m0 in 24.
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "onnxkit/diagnostic.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// The closest double whose further rounding to a narrower type equals rounding the integer itself: what does not fit sets the last bit kept.
double for_rounding(std::uint64_t magnitude) {
  constexpr std::uint64_t beyond = 0x7ff;  // all that the 53 bits of a double may have to leave out
  if (magnitude >> 53 != 0 && (magnitude & beyond) != 0) magnitude = (magnitude & ~beyond) | (beyond + 1);
  return static_cast<double>(magnitude);
}

template <class T>
double real_of(T x, ElementType to) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
    return x;
  } else {
    if (to == ElementType::float64) return static_cast<double>(x);
    if constexpr (std::is_signed_v<T>) {
      if (x < 0) return -for_rounding(0 - static_cast<std::uint64_t>(x));
    }
    return for_rounding(static_cast<std::uint64_t>(x));
  }
}

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Blanks around a number do not count, nor does a plus sign.
std::string_view number_part(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(blanks) - first + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void fail_parse(std::string_view text) {
  throw Fault("the string " + quote(text, 40) + " is not a number");
}

/// `to` decides the digits that count: a string becomes a float32 in one step.
double parse_real(const std::string& whole, ElementType to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::string_view text = number_part(whole);
  if (equal_ignoring_case(text, "inf")) return infinity;
  if (equal_ignoring_case(text, "-inf")) return -infinity;
  if (equal_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  const bool numeric = !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  if (!numeric) fail_parse(whole);
  if (float value = 0; to == ElementType::float32 && parse_whole(text, value)) return value;
  if (double value = 0; parse_whole(text, value)) return value;
  // Well-formed, but beyond the range of double: the sign of the exponent tells on which side.
  long double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) fail_parse(whole);
  if (error == std::errc::result_out_of_range) {
    const std::size_t exponent = text.find_first_of("eE");
    const bool vanishes = exponent != std::string_view::npos && text[exponent + 1] == '-';
    value = vanishes ? 0.0L : std::numeric_limits<long double>::infinity();
    if (text[0] == '-') value = -value;
  }
  return static_cast<double>(value);
}

template <class T>
T parse(const std::string& text, ElementType to) {
  if constexpr (std::is_same_v<T, double>) {
    return parse_real(text, to);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (equal_ignoring_case(text, "true")) return true;
    if (equal_ignoring_case(text, "false")) return false;
    return parse_real(text, ElementType::float64) != 0;
  } else {
    if (T value = 0; parse_whole(number_part(text), value)) return value;
    return truncate_to<T>(parse_real(text, ElementType::float64));
  }
}

/// Plain notation with the fewest digits that give the number back.
template <class T>
std::string plain(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  std::array<char, 512> digits;
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  return {digits.data(), done.ptr};
}

template <class T>
std::string text_of(T x, ElementType from) {
  if constexpr (std::is_same_v<T, double>)
    return from == ElementType::float64 ? plain(x) : plain(static_cast<float>(x));
  else
    return std::to_string(x);
}

/// `from` and `to` are the element types behind the domains X and Y.
template <class X, class Y>
Y convert(const X& x, ElementType from, ElementType to) {
  if constexpr (std::is_same_v<X, Y>)
    return x;
  else if constexpr (std::is_same_v<X, Complex> || std::is_same_v<Y, Complex>)
    throw Fault("complex numbers cannot be cast");
  else if constexpr (std::is_same_v<X, std::string>)
    return parse<Y>(x, to);
  else if constexpr (std::is_same_v<Y, std::string>)
    return text_of(x, from);
  else if constexpr (std::is_same_v<Y, bool>)
    return x != 0;
  else if constexpr (std::is_same_v<Y, double>)
    return real_of(x, to);
  else if constexpr (std::is_same_v<X, double>)
    return truncate_to<Y>(x);
  else
    return static_cast<Y>(x);  // keeps the low bits
}

PowerRounding power_rounding(const KernelContext& context) {
  const std::string_view mode = context.string("round_mode");
  if (mode == "down") return PowerRounding::down;
  if (mode == "nearest") return PowerRounding::nearest;
  require(mode.empty() || mode == "up", "`round_mode` must be up, down or nearest");
  return PowerRounding::up;
}

/// Every number of the one floating type is one of the other.
bool is_widening(ElementType from, ElementType to) {
  if (to == ElementType::float32) return from == ElementType::float16 || from == ElementType::bfloat16;
  return to == ElementType::float64 && (from == ElementType::float32 || is_widening(from, ElementType::float32));
}

void cast_to(KernelContext& context, ElementType to) {
  const Tensor& x = context.input(0);
  const ElementType from = x.type();
  const bool has_rules = domain_of(to) == Domain::real && storage_bits(to) <= 8;
  if (from == to && !has_rules) return context.set_output(0, x);
  if (is_widening(from, to)) {  // weights of large models, which need not be copied
    Tensor same = x.retyped(to);
    same.mark_rounded(x.is_rounded());
    return context.set_output(0, same);
  }
  const FloatConversion conversion{.saturate = context.integer("saturate", 1) != 0,
                                   .power_rounding = power_rounding(context)};
  Tensor y = dispatch_all(x.domain(), [&]<class X>(std::type_identity<X>) {
    return dispatch_all(domain_of(to), [&]<class Y>(std::type_identity<Y>) {
      return map<X, Y>(context, x, to, [from, to](const X& value) { return convert<X, Y>(value, from, to); });
    });
  });
  if (has_rules) round_to(to, y.write<double>(), conversion);
  context.set_output(0, y);
}

/// "FLOAT", "INT64" ...: the names that version 1 uses.
ElementType type_in_capitals(std::string_view name) {
  for (int number = 1; number < element_type_count; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (equal_ignoring_case(name, name_of(type))) return type;
  }
  throw Fault("`to` is not an element type");
}

ElementType target_type(const KernelContext& context) {
  const ElementType to =
      context.since() < 6 ? type_in_capitals(context.string("to")) : context.named_type("to", ElementType::undefined);
  require(to != ElementType::undefined, "`to` is missing");
  return to;
}

void cast(KernelContext& context) { cast_to(context, target_type(context)); }

void cast_like(KernelContext& context) { cast_to(context, context.input(1).type()); }

template <class X, class Y>
void copy_bits(const Tensor& x, Tensor& y) {
  if constexpr (!std::is_same_v<X, std::string> && !std::is_same_v<Y, std::string>) {
    constexpr std::size_t part = 4096;  // fills whole bytes, however small the elements
    const std::span<const X> from = x.as<X>();
    const std::span<Y> to = y.write<Y>();
    std::vector<std::byte> bytes(part * sizeof(Complex));
    for (std::size_t at = 0; at < from.size(); at += part) {
      const std::size_t count = std::min(part, from.size() - at);
      encode(x.type(), from.subspan(at, count), bytes);
      decode(y.type(), bytes, to.subspan(at, count));
    }
  }
}

void bit_cast(KernelContext& context) {
  const Tensor& x = context.input(0);
  const ElementType to = target_type(context);
  if (storage_bits(to) == 0 || storage_bits(to) != storage_bits(x.type()))
    throw Fault("undefined-for-type", "the two types differ in size");
  Tensor y = context.make(to, x.dims());
  dispatch_all(x.domain(), [&]<class X>(std::type_identity<X>) {
    dispatch_all(y.domain(), [&]<class Y>(std::type_identity<Y>) { copy_bits<X, Y>(x, y); });
  });
  context.set_output(0, y);
}

}  // namespace

void register_cast(KernelRegistry& registry) {
  registry.add("Cast", all_versions(), cast,
               {.noise = noise::arithmetic, .derivative = derivative::same_elements, .sizes = SizeRole::step});
  registry.add("CastLike", all_versions(), cast_like, {.noise = noise::arithmetic, .sizes = SizeRole::step});
  registry.add("BitCast", all_versions(), bit_cast, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
