#include "libonnxkit/cpu/map/library.h"

#include <cmath>
#include <limits>
#include <optional>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/kernels/level.h"

namespace onnxkit::cpu {
namespace {

using plan::Operation;

template <class T, T (*function)(T)>
void call_unary(void* to, const void* a, const void*, const void*, std::int64_t count, const std::int64_t*) {
  for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = function(static_cast<const T*>(a)[i]);
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

/// As a power: of -0 it is 0, of the negative infinity the positive one.
template <class T>
T root_of(T x) {
  return x == -std::numeric_limits<T>::infinity() ? -x : std::sqrt(x) + T(0);
}

template <class T>
void call_power(void* to, const void* a, const void* b, const void*, std::int64_t count, const std::int64_t* strides) {
  const auto* base = static_cast<const T*>(a);
  const auto* exponent = static_cast<const T*>(b);
  auto* result = static_cast<T*>(to);
  const auto each = [&](auto function) {
    for (std::int64_t i = 0; i < count; ++i) result[i] = function(base[i * strides[0]]);
  };
  const T same = strides[1] == 0 ? *exponent : T(0);
  if (same == 2) return each([](T x) { return x * x; });
  if (same == 3) return each([](T x) { return x * x * x; });
  if (same == 4) return each([](T x) { return (x * x) * (x * x); });
  if (same == T(0.5)) return each(root_of<T>);
  if (same == T(-0.5)) return each([](T x) { return 1 / root_of(x); });
  if (same == -1) return each([](T x) { return 1 / x; });
  for (std::int64_t i = 0; i < count; ++i) result[i] = std::pow(base[i * strides[0]], exponent[i * strides[1]]);
}

template <class T, T (*function)(T, T)>
void call_binary(void* to, const void* a, const void* b, const void*, std::int64_t count, const std::int64_t* strides) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<T*>(to)[i] =
        function(static_cast<const T*>(a)[i * strides[0]], static_cast<const T*>(b)[i * strides[1]]);
}

/// With the sign of the divisor, zeros included.
template <class T>
T modulo_of(T x, T by) {
  const T rest = std::fmod(x, by);
  if (rest == 0) return std::copysign(T(0), by);
  return (rest < 0) != (by < 0) ? rest + by : rest;
}
std::int64_t rest_of(std::int64_t x, std::int64_t by) { return by == 0 || by == -1 ? 0 : x % by; }
std::int64_t modulo_of(std::int64_t x, std::int64_t by) {
  const std::int64_t rest = rest_of(x, by);
  return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
}
std::int64_t quotient_of(std::int64_t x, std::int64_t by) {
  if (by == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
  return by == 0 ? 0 : x / by;
}
bool shifts_out(std::int64_t by) { return by < 0 || by >= 64; }
std::int64_t shifted_left(std::int64_t x, std::int64_t by) {
  return shifts_out(by) ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << by);
}
std::int64_t shifted_right(std::int64_t x, std::int64_t by) { return shifts_out(by) ? (x < 0 ? -1 : 0) : x >> by; }

template <class T>
Operate* library_function(Operation operation) {
  switch (operation) {
    case Operation::exponential:
      return call_unary<T, std::exp>;
    case Operation::logarithm:
      return call_unary<T, std::log>;
    case Operation::tanh:
      return call_unary<T, std::tanh>;
    case Operation::erf:
      return call_unary<T, std::erf>;
    case Operation::sigmoid:
      return call_unary<T, sigmoid_of<T>>;
    case Operation::sine:
      return call_unary<T, std::sin>;
    case Operation::cosine:
      return call_unary<T, std::cos>;
    case Operation::tangent:
      return call_unary<T, std::tan>;
    case Operation::arc_sine:
      return call_unary<T, std::asin>;
    case Operation::arc_cosine:
      return call_unary<T, std::acos>;
    case Operation::arc_tangent:
      return call_unary<T, std::atan>;
    case Operation::hyperbolic_sine:
      return call_unary<T, std::sinh>;
    case Operation::hyperbolic_cosine:
      return call_unary<T, std::cosh>;
    case Operation::arc_hyperbolic_sine:
      return call_unary<T, std::asinh>;
    case Operation::arc_hyperbolic_cosine:
      return call_unary<T, std::acosh>;
    case Operation::arc_hyperbolic_tangent:
      return call_unary<T, std::atanh>;
    case Operation::power:
      return call_power<T>;
    case Operation::floating_modulo:
      return call_binary<T, std::fmod>;
    case Operation::modulo:
      return call_binary<T, modulo_of<T>>;
    default:
      return nullptr;
  }
}

Operate* integer_function(Operation operation) {
  switch (operation) {
    case Operation::divide:
      return call_binary<std::int64_t, quotient_of>;
    case Operation::modulo:
      return call_binary<std::int64_t, modulo_of>;
    case Operation::floating_modulo:
      return call_binary<std::int64_t, rest_of>;
    case Operation::shift_left:
      return call_binary<std::int64_t, shifted_left>;
    case Operation::shift_right:
      return call_binary<std::int64_t, shifted_right>;
    default:
      return nullptr;
  }
}

std::optional<Function> array_function_of(Operation operation) {
  switch (operation) {
    case Operation::exponential:
      return Function::exp;
    case Operation::logarithm:
      return Function::log;
    case Operation::tanh:
      return Function::tanh;
    case Operation::erf:
      return Function::erf;
    case Operation::sigmoid:
      return Function::sigmoid;
    case Operation::arc_sine:
      return Function::asin;
    case Operation::arc_cosine:
      return Function::acos;
    case Operation::arc_tangent:
      return Function::atan;
    default:
      return std::nullopt;
  }
}

template <Function function>
void call_array(void* to, const void* a, const void*, const void*, std::int64_t count, const std::int64_t*) {
  static ArrayFunction* const run = array_function(function);
  run(static_cast<float*>(to), static_cast<const float*>(a), count);
}

Operate* fast_function(Operation operation) {
  const auto function = array_function_of(operation);
  if (!function) return nullptr;
  switch (*function) {
    case Function::exp:
      return call_array<Function::exp>;
    case Function::log:
      return call_array<Function::log>;
    case Function::tanh:
      return call_array<Function::tanh>;
    case Function::erf:
      return call_array<Function::erf>;
    case Function::asin:
      return call_array<Function::asin>;
    case Function::acos:
      return call_array<Function::acos>;
    case Function::atan:
      return call_array<Function::atan>;
    default:
      return call_array<Function::sigmoid>;
  }
}

/// What a vector function holds for, else `rest`, that of the C library.
template <Operation operation, Operate rest>
void call_limited(void* to, const void* a, const void* b, const void* c, std::int64_t count,
                  const std::int64_t* strides) {
  static TryOperate* const run = best_operations().find_limited(operation);
  if (!run(to, a, b, count, strides)) rest(to, a, b, c, count, strides);
}

Operate* limited_function(Operation operation) {
  switch (operation) {
    case Operation::sine:
      return call_limited<Operation::sine, call_unary<float, std::sin>>;
    case Operation::cosine:
      return call_limited<Operation::cosine, call_unary<float, std::cos>>;
    case Operation::modulo:
      return call_limited<Operation::modulo, call_binary<float, modulo_of<float>>>;
    case Operation::floating_modulo:
      return call_limited<Operation::floating_modulo, call_binary<float, std::fmod>>;
    default:
      return nullptr;
  }
}

#if defined(__x86_64__)
constexpr const OperationTable* operation_tables[] = {&operations_baseline, &operations_v3, &operations_v4};
#else
constexpr const OperationTable* operation_tables[] = {&operations_baseline};
#endif

}  // namespace

const OperationTable& best_operations() { return at_level(operation_tables, best_level()); }

Operate* silu() { return call_array<Function::silu>; }

Operate* operation_for(Operation operation, Held held) {
  Operate* found = nullptr;
  if (held == Held::f32) {
    found = fast_function(operation);
    if (!found) found = limited_function(operation);
    if (!found) found = library_function<float>(operation);
  } else if (held == Held::f64) {
    found = library_function<double>(operation);
  } else if (held == Held::i64) {
    found = integer_function(operation);
  }
  return found ? found : best_operations().find(operation, held);
}

}  // namespace onnxkit::cpu
