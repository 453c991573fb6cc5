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

// Programs of torch.export (.pt2): a zip archive with a graph of ATen operators as JSON, and the weights.
namespace onnxkit::pt2 {

/// Whether the content is an archive of torch.export.
bool is_pt2(const std::shared_ptr<const MappedFile>& file);

/// The program in ONNX. Weights view into the file. Error codes: malformed-archive, json-syntax, malformed-model, not-supported,
/// unsupported-operator (with `findings`).
Result<ir::Model> read(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                       foreign::Trace* trace = nullptr);

/// The operators of torch.export that `read` knows.
foreign::ReadOperators read_operators();

}  // namespace onnxkit::pt2
