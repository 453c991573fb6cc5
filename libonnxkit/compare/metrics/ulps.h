#pragma once

#include <span>

#include "onnxkit/element_type.h"

namespace onnxkit::comparison {

/// The floating type with fewer bits of mantissa, of two such types the narrower one; undefined where one of them is not floating, or one
/// alone is float8e8m0, which has neither sign nor zero.
ElementType coarser_type(ElementType a, ElementType b);

struct UlpDistances {
  double sum = 0, largest = 0;
};

/// How many numbers of a floating type lie between a[i] and b[i], both finite and rounded to it; from one number to the next it is 1, and the
/// two zeros are one number. At most Elements::most pairs.
UlpDistances ulp_distances(ElementType type, std::span<const double> a, std::span<const double> b);

}  // namespace onnxkit::comparison
