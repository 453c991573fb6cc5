#pragma once

#include <memory>

#include "converters/foreign/graph.h"
#include "converters/formats/tflite/mappings.h"
#include "onnxkit/result.h"

namespace onnxkit::tflite {

/// The model as the file states it. Inputs and outputs have the names of the signature that stands for the main graph, if there is one.
/// Error codes: malformed-model, not-supported.
Result<foreign::Model> read_program(std::shared_ptr<const MappedFile> file, const Mappings& mappings);

}  // namespace onnxkit::tflite
