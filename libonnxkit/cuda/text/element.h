#pragma once

#include <string>
#include <string_view>

#include "libonnxkit/plan/expression.h"

namespace onnxkit::cuda {

using plan::Lane;

/// "float", "double" or "long long".
std::string_view lane_type(Lane lane);
/// The type of text/prelude.h that elements are stored in; empty for those that kernels cannot read.
std::string_view stored_type(ElementType type);

/// A number in a lane, from the text of a stored element.
std::string loaded(ElementType stored, Lane lane, std::string_view element);
/// The text of what is stored of a number in a lane.
std::string stored(ElementType stored, Lane lane, std::string_view number);
/// A literal of a lane: "0.5f", "-3LL".
std::string literal(Lane lane, double real);
std::string literal(std::int64_t integer);

/// What sums of elements are kept in.
Lane sum_lane(ElementType type);

}  // namespace onnxkit::cuda
