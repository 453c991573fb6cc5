#pragma once

#include <string>
#include <string_view>

namespace onnxkit::to_tensorflow {

/// Which attributes of an operator follow from its arguments, as text: "T=0 Tidx=1" says that T is the type of the first argument and Tidx that of the
/// second, "N=0" that N is how many values the first one lists. Most operators have T=0 alone.
std::string_view derived_attributes(std::string_view op);

/// How nodes of a function refer to an output, behind the name of its node: "output:0".
std::string output_in_function(std::string_view op, std::size_t output);

}  // namespace onnxkit::to_tensorflow
