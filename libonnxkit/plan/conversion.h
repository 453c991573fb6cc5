#pragma once

#include <string>
#include <vector>

#include "libonnxkit/plan/steps.h"

// Values in another type, for what changes the types of a plan that has its steps.
namespace onnxkit::plan {

/// What a conversion is for the step that it serves (Step::converts).
inline constexpr std::string_view operand_of = "an operand of", result_of = "a result of",
                                  input_for = "an input, first for";

/// A map that only converts between types of real numbers. `converts` is empty where a node says so.
Step conversion(const View& from, const View& to, const std::vector<std::string>& nodes,
                std::string_view converts = {});
/// Whether a step is such a map.
bool is_conversion(const Step& step);
/// A new value in another type, without gaps, in the order of axes of `like`; its buffer has no place yet.
View new_value_like(Plan& plan, ElementType type, const View& like);

}  // namespace onnxkit::plan
