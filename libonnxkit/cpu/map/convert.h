#pragma once

#include <cstdint>

#include "libonnxkit/cpu/map/operations.h"

namespace onnxkit::cpu {

/// How numbers of a lane are held.
Held held_as(plan::Lane lane);
/// Bytes of a number.
std::int64_t bytes_of(Held held);

/// Between stored elements, in any distance from one another, and numbers side by side.
class Conversion {
 public:
  Conversion() = default;
  Conversion(ElementType type, Held held);
  /// Of float32 without NaN, stored as int8 or uint8: those beyond become the nearest.
  static Conversion saturating(ElementType type);

  /// Elements are numbers as they are.
  bool is_plain() const { return is_plain_; }
  /// Bytes of an element.
  std::int64_t width() const { return width_; }

  /// to[i] = what is stored at from + i * stride elements.
  void load(void* to, const std::byte* from, std::int64_t stride, std::int64_t count) const;
  /// The way back: reals are rounded, integers wrap.
  void store(std::byte* to, std::int64_t stride, const void* from, std::int64_t count) const;

 private:
  Convert *load_ = nullptr, *store_ = nullptr;
  std::int64_t width_ = 0, number_bytes_ = 0;
  bool is_plain_ = false;
};

}  // namespace onnxkit::cpu
