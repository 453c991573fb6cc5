#pragma once

#include "converters/foreign/graph.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::tflite {

/// Writes a graph of operators of TensorFlow Lite as a file: arguments that are values become inputs, others options by the names of tflite.fbs, and
/// bodies graphs of their own. The tables are made in memory, contents of tensors are passed on one after the other, 16-byte aligned: inside the
/// FlatBuffer while the file stays below 2 GiB, else behind it. The same graph gives the same bytes. Error codes: not-supported, those of the sink.
Result<void> write_program(const foreign::Model& model, const ByteSink& sink);

}  // namespace onnxkit::tflite
