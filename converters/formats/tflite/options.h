#pragma once

#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::tflite {

namespace schema {
struct Operator;
}

/// The options that the file states of an operator, by their names in the schema; those with their default are not in files.
std::vector<foreign::Argument> options_of(const schema::Operator& node);

}  // namespace onnxkit::tflite
