#pragma once

#include <memory>
#include <vector>

#include "converters/foreign/operators.h"
#include "converters/foreign/trace.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

// Models of TensorFlow Lite (.tflite): tables of a FlatBuffer, channels last.
namespace onnxkit::tflite {

/// The main graph in ONNX, channels first where that saves Transposes. Weights view into the file unless their layout changes. Error codes:
/// malformed-model, not-supported, unsupported-operator (with `findings`).
Result<ir::Model> read(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                       foreign::Trace* trace = nullptr);

/// Writes the model with builtin operators. Error codes: not-supported, unsupported-operator (with `findings`), those of external data and of the sink.
Result<void> write(const ir::Model& model, const ByteSink& sink, std::vector<Diagnostic>& findings,
                   foreign::Trace* trace = nullptr);

/// The operators of ONNX that `write` maps, in the opset that its mappings read.
foreign::WrittenOperators written_operators();
/// The operators of TensorFlow Lite that `read` maps.
foreign::ReadOperators read_operators();

}  // namespace onnxkit::tflite
