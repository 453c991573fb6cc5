#pragma once

#include <optional>
#include <string>

#include "onnxkit/value.h"

namespace onnxkit::comparison {

/// A number agrees when |a - b| <= absolute + relative * |b|, b being the expected one. Integers, booleans and strings must be equal unless
/// `integers` is set, which then is how far integers may be apart.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
  std::int64_t integers = 0;
};

/// The first thing in which two values differ, for people: type, shape, or the worst element; nullopt when they agree. NaN agrees with NaN, an
/// infinity with the same infinity.
std::optional<std::string> difference(const Value& expected, const Value& got, const Tolerance& tolerance = {});

}  // namespace onnxkit::comparison
