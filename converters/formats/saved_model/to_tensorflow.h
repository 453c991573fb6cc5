#pragma once

#include <vector>

#include "converters/foreign/export.h"
#include "converters/foreign/graph.h"
#include "converters/foreign/operators.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::to_tensorflow {

/// The model as a graph of TensorFlow's operators: brought to one opset, with channels last. Text and weights view into `model`, which is changed and
/// must outlive the result. Error codes: unsupported-operator (with `findings`), those of external data.
Result<foreign::Model> to_tensorflow(ir::Model& model, std::vector<Diagnostic>& findings,
                                     foreign::Trace* trace = nullptr);

/// The operators that are written, for `onnxkit ops`.
foreign::WrittenOperators written_operators();

}  // namespace onnxkit::to_tensorflow
