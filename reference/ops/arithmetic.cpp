// Operators that work element by element on two or more inputs: arithmetic, comparison, logic, bits.
// Until version 6 shapes are equal, or `broadcast` lets B cover a run of A's axes that starts at `axis`; from 7 (variadic ones: 8) on shapes
// are broadcast as in numpy.
#include "reference/numerics/arithmetic.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/derivatives.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

/// B as an operand that broadcasts against A by numpy's rule, under the rule of opset 1 to 6.
Tensor old_operand(const KernelContext& context, const Tensor& a, const Tensor& b) {
  if (context.integer("broadcast") == 0) {
    require(a.dims() == b.dims(), "shapes differ and broadcast is not set");
    return b;
  }
  const std::int64_t free_axes = a.rank() - b.rank();
  require(free_axes >= 0, "B has more axes than A");
  std::int64_t start = context.has_attribute("axis") ? context.integer("axis") : free_axes;
  if (start < 0) start += a.rank();
  require(0 <= start && start <= free_axes, "B exceeds the rank of A when placed at axis");
  Dims dims = b.dims();
  dims.resize(static_cast<std::size_t>(a.rank() - start), 1);
  require(broadcast_dims(a.dims(), dims) == a.dims(), "B does not match consecutive axes of A");
  return b.reshaped(std::move(dims));
}

struct Operands {
  Tensor a, b;
};

Operands operands_of(const KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  require(a.type() == b.type(), "A and B have different element types");
  return {a, context.since() < 7 && context.schema().find_attribute("broadcast") ? old_operand(context, a, b) : b};
}

/// A type-preserving operator on numbers; f is a generic callable.
template <auto f>
void numbers_arithmetic(KernelContext& context) {
  const auto [a, b] = operands_of(context);
  context.set_output(0, dispatch_numbers(a.domain(), [&, &x = a, &y = b]<class T>(std::type_identity<T>) {
                       return map<T, T, T>(context, x, y, x.type(), [](T p, T q) { return f(p, q); });
                     }));
}

template <auto f>
void comparison(KernelContext& context) {
  const auto [a, b] = operands_of(context);
  context.set_output(0, dispatch_all(a.domain(), [&, &x = a, &y = b]<class T>(std::type_identity<T>) -> Tensor {
                       if constexpr (std::is_same_v<T, Complex>)
                         throw Fault("complex numbers have no order");
                       else
                         return map<T, T, bool>(context, x, y, ElementType::boolean,
                                                [](const T& p, const T& q) { return f(p, q); });
                     }));
}

template <auto f>
void logic(KernelContext& context) {
  const auto [a, b] = operands_of(context);
  context.set_output(0, map<bool, bool, bool>(context, a, b, ElementType::boolean, f));
}

template <auto f>
void bits(KernelContext& context) {
  const auto [a, b] = operands_of(context);
  context.set_output(0, dispatch_numbers(a.domain(), [&, &x = a, &y = b]<class T>(std::type_identity<T>) -> Tensor {
                       if constexpr (std::is_same_v<T, double>)
                         throw Fault("bitwise operators require integers");
                       else
                         return map<T, T, T>(context, x, y, x.type(), [](T p, T q) { return static_cast<T>(f(p, q)); });
                     }));
}

constexpr auto plus_arithmetic = [](auto a, auto b) { return add(a, b); };
constexpr auto minus = [](auto a, auto b) { return subtract(a, b); };
constexpr auto times_arithmetic = [](auto a, auto b) { return multiply(a, b); };
constexpr auto over = [](auto a, auto b) { return divide(a, b); };
constexpr auto greatest_arithmetic = [](auto a, auto b) { return greater_of(a, b); };
constexpr auto least_arithmetic = [](auto a, auto b) { return lesser_of(a, b); };
constexpr auto both_arithmetic = [](bool a, bool b) { return a && b; };
constexpr auto either = [](bool a, bool b) { return a || b; };
constexpr auto one_of = [](bool a, bool b) { return a != b; };
constexpr auto equal = [](const auto& a, const auto& b) { return a == b; };
constexpr auto less = [](const auto& a, const auto& b) { return a < b; };
constexpr auto greater = [](const auto& a, const auto& b) { return a > b; };
constexpr auto less_or_equal = [](const auto& a, const auto& b) { return a <= b; };
constexpr auto greater_or_equal = [](const auto& a, const auto& b) { return a >= b; };
constexpr auto bits_and = [](auto a, auto b) { return a & b; };
constexpr auto bits_or = [](auto a, auto b) { return a | b; };
constexpr auto bits_xor = [](auto a, auto b) { return a ^ b; };

/// x to an integral power by repeated squaring, wrapping; 1 / x^-y truncated for negative powers.
template <class T, class E>
T integer_power(T base, E exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    }
    return 0;
  }
  T power = 1;
  for (; exponent > 0; exponent /= 2, base = multiply(base, base)) {
    if (exponent % 2 != 0) power = multiply(power, base);
  }
  return power;
}

/// The exponent may have another type than the base; the result has the base's.
void pow(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& given = context.input(1);
  const Tensor y = context.since() < 7 ? old_operand(context, x, given) : given;
  const Tensor power = dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
    return dispatch_numbers(y.domain(), [&]<class E>(std::type_identity<E>) {
      return map<T, E, T>(context, x, y, x.type(), [](T base, E exponent) {
        if constexpr (std::is_same_v<T, double> || std::is_same_v<E, double>)
          return truncate_to<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
        else
          return integer_power(base, exponent);
      });
    });
  });
  context.set_output(0, power);
}

/// fmod = 1: the sign of the dividend, as in C; else that of the divisor, as in Python, zeros included. Modulo 0 of integers gives 0.
void mod(KernelContext& context) {
  const auto [a, b] = operands_of(context);
  const bool as_c = context.integer("fmod") != 0;
  if (!as_c && context.since() < 28 && a.domain() == Domain::real)
    throw Fault("undefined-for-type", "floating-point numbers require fmod = 1 up to version 27");
  context.set_output(0, dispatch_numbers(a.domain(), [&, &x = a, &y = b]<class T>(std::type_identity<T>) {
                       return map<T, T, T>(context, x, y, x.type(), [as_c](T p, T q) -> T {
                         if constexpr (std::is_same_v<T, double>) {
                           const double rest = std::fmod(p, q);
                           if (as_c) return rest;
                           if (rest == 0) return std::copysign(0.0, q);
                           return (rest < 0) != (q < 0) ? rest + q : rest;
                         } else {
                           if (q == 0) return 0;
                           if constexpr (std::is_signed_v<T>) {
                             if (q == -1) return 0;
                           }
                           const T rest = static_cast<T>(p % q);
                           return !as_c && rest != 0 && (rest < 0) != (q < 0) ? static_cast<T>(rest + q) : rest;
                         }
                       });
                     }));
}

/// Shifts by a negative number, or by the width or more, leave the sign of what is shifted right, else nothing. 64 serves as every width: to the
/// left, bits beyond the type are cut off; to the right, its elements are sign-extended.
template <class T>
T shifted(T x, T by, bool left) {
  const bool out = by < 0 || by >= 64;
  if (left) return out ? 0 : static_cast<T>(static_cast<std::uint64_t>(x) << by);
  return out ? (x < 0 ? static_cast<T>(-1) : 0) : x >> by;
}

void bit_shift(KernelContext& context) {
  const std::string_view direction = context.string("direction");
  require(direction == "LEFT" || direction == "RIGHT", "`direction` must be LEFT or RIGHT");
  const bool left = direction == "LEFT";
  const auto [a, b] = operands_of(context);
  context.set_output(0, dispatch_numbers(a.domain(), [&, &x = a, &y = b]<class T>(std::type_identity<T>) -> Tensor {
                       if constexpr (std::is_same_v<T, double>)
                         throw Fault("BitShift requires integers");
                       else
                         return map<T, T, T>(context, x, y, x.type(), [left](T p, T q) { return shifted(p, q, left); });
                     }));
}

template <auto f>
Tensor fold(const KernelContext& context) {
  Tensor sum = context.input(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const Tensor& next = context.input(i);
    require(next.type() == sum.type(), "the inputs have different element types");
    require(context.since() >= 8 || next.dims() == sum.dims(), "the inputs have different shapes");
    sum = dispatch_numbers(sum.domain(), [&]<class T>(std::type_identity<T>) {
      return map<T, T, T>(context, sum, next, sum.type(), [](T p, T q) { return f(p, q); });
    });
  }
  return sum;
}

template <auto f>
void variadic(KernelContext& context) {
  context.set_output(0, fold<f>(context));
}

/// The sum of all inputs; of three reals and more without rounding on the way.
Tensor sum_of_inputs(const KernelContext& context) {
  const Tensor folded = fold<plus_arithmetic>(context);
  if (folded.domain() != Domain::real || context.input_count() < 3) return folded;
  std::vector<Tensor> parts;
  for (const Tensor* input : context.inputs_from()) parts.push_back(expand(context, *input, folded.dims()));
  Tensor sums = context.make(folded.type(), folded.dims());
  double* const out = sums.write<double>().data();
  context.for_range(sums.size(), 1 << 14, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      ExactSum sum;
      for (const Tensor& part : parts) sum.add(part.as<double>()[static_cast<std::size_t>(i)]);
      out[i] = sum.value();
    }
  });
  return sums;
}

void sum(KernelContext& context) { context.set_output(0, sum_of_inputs(context)); }

void mean(KernelContext& context) {
  const auto count = static_cast<double>(context.input_count());
  const Tensor total = sum_of_inputs(context);
  context.set_output(0, map<double, double>(context, total, total.type(), [count](double x) { return x / count; }));
}

/// Until version 6 a slope of one element is shared, any other has one element per channel (axis 1).
void prelu(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor slope = context.input(1);
  if (context.since() < 7 && slope.size() != 1 && x.rank() > 1) {
    require(slope.size() == x.dim(1), "the slope must have one element, or one per channel");
    Dims dims(static_cast<std::size_t>(x.rank() - 1), 1);
    dims[0] = slope.size();
    slope = slope.reshaped(std::move(dims));
  }
  require(broadcast_dims(x.dims(), slope.dims()) == x.dims(), "the slope does not broadcast to the input");
  context.set_output(0, dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
                       return map<T, T, T>(context, x, slope, x.type(),
                                           [](T p, T q) { return p < 0 ? multiply(p, q) : p; });
                     }));
}

/// Until version 10 the bounds are attributes. A bound that is left out is the end of what the type holds, so infinities become finite. NaN stays
/// NaN, a bound that is NaN does nothing, and min above max gives max.
template <class T>
T clip_bound(const KernelContext& context, bool upper) {
  const std::size_t index = upper ? 2 : 1;
  if (const Tensor* given = context.since() < 11 ? nullptr : context.find_input(index)) {
    require(given->size() == 1 && given->type() == context.input(0).type(),
            "a bound must be one element of the input's type");
    return given->as<T>()[0];
  }
  const char* const name = upper ? "max" : "min";
  if constexpr (std::is_same_v<T, double>) {
    if (context.has_attribute(name)) return context.real(name);
    const double largest = largest_finite(context.input(0).type());
    return upper ? largest : -largest;
  } else {
    return upper ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
}

void clip(KernelContext& context) {
  const Tensor& x = context.input(0);
  context.set_output(0, dispatch_numbers(x.domain(), [&]<class T>(std::type_identity<T>) {
                       const T low = clip_bound<T>(context, false), high = clip_bound<T>(context, true);
                       return map<T, T>(context, x, x.type(), [low, high](T v) {
                         if (v < low) v = low;
                         return v > high ? high : v;
                       });
                     }));
}

}  // namespace

void register_arithmetic(KernelRegistry& registry) {
  registry.add("Add", all_versions(), numbers_arithmetic<plus_arithmetic>,
               {.noise = noise::arithmetic, .derivative = derivative::add, .sizes = SizeRole::step});
  registry.add("Sub", all_versions(), numbers_arithmetic<minus>,
               {.noise = noise::arithmetic, .derivative = derivative::sub, .sizes = SizeRole::step});
  registry.add("Mul", all_versions(), numbers_arithmetic<times_arithmetic>,
               {.noise = noise::arithmetic, .derivative = derivative::mul, .sizes = SizeRole::step});
  registry.add("Div", all_versions(), numbers_arithmetic<over>,
               {.noise = noise::arithmetic, .derivative = derivative::div, .sizes = SizeRole::step});
  registry.add("Pow", all_versions(), pow, {.noise = noise::transcendental, .derivative = derivative::pow});
  registry.add("Mod", all_versions(), mod, {.noise = noise::ordinary});
  registry.add("And", all_versions(), logic<both_arithmetic>);
  registry.add("Or", all_versions(), logic<either>);
  registry.add("Xor", all_versions(), logic<one_of>);
  registry.add("Equal", all_versions(), comparison<equal>);
  registry.add("Less", all_versions(), comparison<less>);
  registry.add("Greater", all_versions(), comparison<greater>);
  registry.add("LessOrEqual", all_versions(), comparison<less_or_equal>);
  registry.add("GreaterOrEqual", all_versions(), comparison<greater_or_equal>);
  registry.add("BitShift", all_versions(), bit_shift);
  registry.add("BitwiseAnd", all_versions(), bits<bits_and>);
  registry.add("BitwiseOr", all_versions(), bits<bits_or>);
  registry.add("BitwiseXor", all_versions(), bits<bits_xor>);
  registry.add("Sum", all_versions(), sum, {.noise = noise::sum, .derivative = derivative::sum});
  registry.add("Max", all_versions(), variadic<greatest_arithmetic>,
               {.noise = noise::exact, .derivative = derivative::extreme, .sizes = SizeRole::step});
  registry.add("Min", all_versions(), variadic<least_arithmetic>,
               {.noise = noise::exact, .derivative = derivative::extreme, .sizes = SizeRole::step});
  registry.add("Mean", all_versions(), mean, {.noise = noise::sum, .derivative = derivative::mean});
  registry.add("PRelu", all_versions(), prelu, {.noise = noise::arithmetic});
  registry.add("Clip", all_versions(), clip, {.noise = noise::exact, .derivative = derivative::clip});
}

}  // namespace onnxkit::reference
