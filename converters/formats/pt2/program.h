#pragma once

#include <string_view>
#include <vector>

#include "converters/containers/json.h"
#include "converters/foreign/graph.h"
#include "converters/foreign/trace.h"
#include "converters/formats/pt2/functionalize.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::pt2 {

/// What a graph input of the program is.
struct InputSpec {
  enum class Kind : std::uint8_t { user, parameter, buffer, constant };
  Kind kind = Kind::user;
  foreign::ValueId value = foreign::ValueId::none;
  std::string_view name;  ///< of a parameter, buffer or constant in the module: "layer1.0.weight"
};

/// The program of an exported model, before its weights are there.
struct Program {
  foreign::Model model;  ///< without tensors; all inputs are inputs of the graph
  std::vector<InputSpec> inputs;
  std::vector<Written> changes;  ///< that the signature states; their contents are no outputs of the graph
};

/// The program, with its weights, in ONNX. Errors: as pt2::read.
Result<ir::Model> to_onnx(Program& program, std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

/// Reads the JSON of a program of torch.export (schema 5 to 8). Error codes: malformed-model, not-supported.
Result<Program> read_program(containers::Json root);

}  // namespace onnxkit::pt2
