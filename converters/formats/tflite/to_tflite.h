#pragma once

#include <vector>

#include "converters/foreign/graph.h"
#include "converters/foreign/operators.h"
#include "converters/foreign/trace.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::to_tflite {

/// The model as a graph of builtin operators of TensorFlow Lite: brought to one opset, with channels last, activations fused. Text and weights view
/// into `model`, which is changed and must outlive the result. Error codes: unsupported-operator (with `findings`), those of external data.
Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

}  // namespace onnxkit::to_tflite
