#pragma once

#include <string_view>
#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::tflite {

namespace schema {
struct Operator;
}

/// The options that the file states of an operator, by their names in the schema; those with their default are not in files.
std::vector<foreign::Argument> options_of(const schema::Operator& node);

/// The same of custom operators whose form is known: a map of FlexBuffers, or what MediaPipe's transposed convolution has.
std::vector<foreign::Argument> custom_options_of(const schema::Operator& node, std::string_view op);

}  // namespace onnxkit::tflite
