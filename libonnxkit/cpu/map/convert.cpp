#include "libonnxkit/cpu/map/convert.h"

#include <cstring>

#include "libonnxkit/cpu/map/operations.h"

namespace onnxkit::cpu {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

float widened(Half half) {
  float number;
  best_operations().load_float16(&number, &half.bits, 1);
  return number;
}
float widened(Brain brain) {
  float number;
  best_operations().load_bfloat16(&number, &brain.bits, 1);
  return number;
}
Half narrowed_half(float value) {
  Half half;
  best_operations().store_float16(&half.bits, &value, 1);
  return half;
}
Brain narrowed_brain(float value) {
  Brain brain;
  best_operations().store_bfloat16(&brain.bits, &value, 1);
  return brain;
}

template <class Stored, class T>
T to_lane(Stored stored) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, Brain>)
    return widened(stored);
  else if constexpr (std::is_same_v<Stored, bool>)
    return stored ? 1 : 0;
  else
    return static_cast<T>(stored);
}

template <class Stored, class T>
Stored from_lane(T number) {
  if constexpr (std::is_same_v<Stored, Half>)
    return narrowed_half(number);
  else if constexpr (std::is_same_v<Stored, Brain>)
    return narrowed_brain(number);
  else if constexpr (std::is_same_v<Stored, bool>)
    return number != 0;
  else
    return static_cast<Stored>(number);
}

/// Calls f with the stored type and that of its lane.
template <class F>
void dispatch_stored(ElementType type, F f) {
  switch (type) {
    case ElementType::float32:
      return f(float(), float());
    case ElementType::float16:
      return f(Half(), float());
    case ElementType::bfloat16:
      return f(Brain(), float());
    case ElementType::float64:
      return f(double(), double());
    case ElementType::int8:
      return f(std::int8_t(), std::int64_t());
    case ElementType::int16:
      return f(std::int16_t(), std::int64_t());
    case ElementType::int32:
      return f(std::int32_t(), std::int64_t());
    case ElementType::int64:
      return f(std::int64_t(), std::int64_t());
    case ElementType::uint8:
      return f(std::uint8_t(), std::int64_t());
    case ElementType::uint16:
      return f(std::uint16_t(), std::int64_t());
    case ElementType::uint32:
      return f(std::uint32_t(), std::int64_t());
    case ElementType::boolean:
      return f(bool(), std::int64_t());
    default:
      return;
  }
}

}  // namespace

void load_elements(void* to, const std::byte* from, ElementType type, std::int64_t stride, std::int64_t count) {
  if (stride == 1 && is_16_bit_real(type)) {
    const auto load = type == ElementType::float16 ? best_operations().load_float16 : best_operations().load_bfloat16;
    return load(static_cast<float*>(to), reinterpret_cast<const std::uint16_t*>(from), count);
  }
  dispatch_stored(type, [&]<class Stored, class T>(Stored, T) {
    auto* numbers = static_cast<T*>(to);
    const auto* stored = reinterpret_cast<const Stored*>(from);
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = to_lane<Stored, T>(stored[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = to_lane<Stored, T>(stored[i * stride]);
    }
  });
}

void store_elements(std::byte* to, ElementType type, std::int64_t stride, const void* from, std::int64_t count) {
  if (stride == 1 && is_16_bit_real(type)) {
    const auto store =
        type == ElementType::float16 ? best_operations().store_float16 : best_operations().store_bfloat16;
    return store(reinterpret_cast<std::uint16_t*>(to), static_cast<const float*>(from), count);
  }
  dispatch_stored(type, [&]<class Stored, class T>(Stored, T) {
    auto* stored = reinterpret_cast<Stored*>(to);
    const auto* numbers = static_cast<const T*>(from);
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) stored[i] = from_lane<Stored, T>(numbers[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) stored[i * stride] = from_lane<Stored, T>(numbers[i]);
    }
  });
}

}  // namespace onnxkit::cpu
