#pragma once

#include <vector>

#include "converters/foreign/graph.h"
#include "converters/foreign/operators.h"
#include "converters/foreign/trace.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

// ONNX written with the operators of ATen, for every file of PyTorch that holds them: .pt2, TorchScript, Python source.
namespace onnxkit::aten {

/// The model as a graph of ATen operators, brought to `write_opset` first. Every output of the graph is the result of a node, and of one output only.
/// Text and weights view into `model`, which is changed and must outlive the result. Error codes: unsupported-operator (with `findings`), those of
/// external data.
Result<foreign::Model> to_aten(ir::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

/// The operators of ONNX that have a mapping, in the opset that mappings read.
foreign::WrittenOperators written_operators();

}  // namespace onnxkit::aten
