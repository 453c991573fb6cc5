#pragma once

#include <functional>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "converters/foreign/graph.h"
#include "tflite_generated.h"

namespace onnxkit::tflite {

/// An option as a number of the file.
using OptionNumber = std::function<double(const foreign::Argument&)>;

struct WrittenOptions {
  schema::BuiltinOptions type = schema::BuiltinOptions_NONE;
  flatbuffers::Offset<void> table;
};

/// The table of options that an operator has, filled by name from the arguments; what is not given has its default.
WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, schema::BuiltinOperator op,
                             const std::vector<foreign::Argument>& arguments, const OptionNumber& number);

}  // namespace onnxkit::tflite
