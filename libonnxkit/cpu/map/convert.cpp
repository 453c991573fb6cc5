#include "libonnxkit/cpu/map/convert.h"

#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/by_width.h"

namespace onnxkit::cpu {
namespace {

/// Elements that are gathered or scattered together.
constexpr std::int64_t together = 256;

bool is_same(ElementType type, Held held) {
  switch (held) {
    case Held::f32:
      return type == ElementType::float32;
    case Held::f64:
      return type == ElementType::float64;
    case Held::i64:
      return type == ElementType::int64;
    default:
      return type == ElementType::boolean;
  }
}

}  // namespace

Held held_as(plan::Lane lane) {
  return lane == plan::Lane::f32 ? Held::f32 : lane == plan::Lane::f64 ? Held::f64 : Held::i64;
}

std::int64_t bytes_of(Held held) { return held == Held::truth ? 1 : held == Held::f32 ? 4 : 8; }

Conversion::Conversion(ElementType type, Held held)
    : load_(best_operations().load(type, held)),
      store_(best_operations().store(type, held)),
      width_(storage_bits(type) / 8),
      number_bytes_(bytes_of(held)),
      is_plain_(is_same(type, held)) {}

Conversion Conversion::saturating(ElementType type) {
  Conversion conversion(type, Held::f32);
  conversion.store_ = best_operations().store_saturated(type);
  return conversion;
}

void Conversion::load(void* to, const std::byte* from, std::int64_t stride, std::int64_t count) const {
  if (stride == 1 || count == 1) return load_(to, from, count);
  by_width(width_, [&]<class T>(T) {
    T near[together];
    const auto* const elements = reinterpret_cast<const T*>(from);
    for (std::int64_t first = 0; first < count; first += together) {
      const std::int64_t some = std::min(together, count - first);
      if (stride == 2) {  // a constant, for loops on vectors
        for (std::int64_t i = 0; i < some; ++i) near[i] = elements[(first + i) * 2];
      } else {
        for (std::int64_t i = 0; i < some; ++i) near[i] = elements[(first + i) * stride];
      }
      load_(static_cast<std::byte*>(to) + first * number_bytes_, near, some);
    }
  });
}

void Conversion::store(std::byte* to, std::int64_t stride, const void* from, std::int64_t count) const {
  if (stride == 1 || count == 1) return store_(to, from, count);
  by_width(width_, [&]<class T>(T) {
    T near[together];
    auto* const elements = reinterpret_cast<T*>(to);
    for (std::int64_t first = 0; first < count; first += together) {
      const std::int64_t some = std::min(together, count - first);
      store_(near, static_cast<const std::byte*>(from) + first * number_bytes_, some);
      for (std::int64_t i = 0; i < some; ++i) elements[(first + i) * stride] = near[i];
    }
  });
}

}  // namespace onnxkit::cpu
