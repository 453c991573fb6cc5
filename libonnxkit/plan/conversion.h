#pragma once

#include <string>
#include <vector>

#include "libonnxkit/plan/steps.h"

// Values in another type, for what changes the types of a plan that has its steps.
namespace onnxkit::plan {

/// A map that only converts between types of real numbers.
Step conversion(const View& from, const View& to, const std::vector<std::string>& nodes);
/// Whether a step is such a map.
bool is_conversion(const Step& step);
/// A new value in another type, without gaps, in the order of axes of `like`; its buffer has no place yet.
View new_value_like(Plan& plan, ElementType type, const View& like);

}  // namespace onnxkit::plan
