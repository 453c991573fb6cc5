#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converters/foreign/operators.h"
#include "converters/foreign/trace.h"
#include "converters/formats/torchscript/settings.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

// Modules of TorchScript (torch.jit.save): an archive with weights, and code in a part of Python's syntax, which is followed and never run.
namespace onnxkit::torchscript {

/// The module in ONNX. Weights view into the file. Inputs whose shapes `settings` do not have are of the sizes that a trace was recorded
/// with. Error codes: malformed-archive, malformed-pickle, malformed-model, not-supported, nesting-depth, memory-limit, usage,
/// unknown-input, unsupported-operator (with `findings`).
Result<ir::Model> read(std::shared_ptr<const MappedFile> file, const Settings& settings,
                       std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

/// The operators of TorchScript that `read` knows.
foreign::ReadOperators read_operators();

}  // namespace onnxkit::torchscript
