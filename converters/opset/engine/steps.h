#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "converters/opset/engine/registry.h"

// Steps that recur. Each is a Way to be used as it is, or a function that a step calls.
namespace onnxkit::opset {

/// The attribute means nothing and goes.
Way drop_attribute(std::string_view attribute);
/// Down: the older version has no such attribute and does what its default says; another value is refused.
Way drop_default(std::initializer_list<std::string_view> attributes);
/// Up: an attribute of integers becomes an int64 input, absent where it was absent.
Way attribute_to_input(std::string_view attribute, std::size_t input);
/// Down: the input must be constant. Negative axes stay negative.
Way input_to_attribute(std::size_t input, std::string_view attribute);
/// Down: an axis, or axes, counted from the end are counted from the beginning. `input`: the one whose rank tells.
Way nonnegative_axis(std::string_view attribute, std::size_t input = 0);
Way nonnegative_axes(std::string_view attribute, std::size_t input = 0);

// ---- parts of steps

/// `axis` counted from the beginning; refuses when it is negative and the rank is not known.
std::int64_t counted_from_front(Step& step, std::int64_t axis, ValueId value);
/// An integer list of the node as a value: what attribute_to_input does, for references of functions, too. `none` when absent.
ValueId integers_as_input(Step& step, std::string_view attribute);
/// Constant content of an input; refuses when it is computed or a caller may change it.
std::vector<std::int64_t> need_integers(Step& step, std::size_t input, std::string_view what);
/// Refuses unless the attribute is absent or has the default of the version before.
void drop_if_default(Step& step, std::string_view attribute);

}  // namespace onnxkit::opset
