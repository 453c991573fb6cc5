#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "converters/foreign/operators.h"
#include "converters/foreign/trace.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

// TensorFlow's models: folders of a SavedModel, and frozen graphs.
namespace onnxkit::saved_model {

/// The function of a signature in ONNX, channels first where that saves Transposes. An empty name is `serving_default`, or the only
/// signature that there is. Variables view into the files of the folder unless their layout changes. Error codes: cannot-read,
/// malformed-model, not-supported, usage (no such signature), unsupported-operator (with `findings`).
Result<ir::Model> read(const std::filesystem::path& folder, std::string_view signature,
                       std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

/// The signatures of a SavedModel, sorted. Error codes: cannot-read, malformed-model, not-supported.
Result<std::vector<std::string>> signatures(const std::filesystem::path& folder);

/// A file with one message GraphDef: its placeholders are inputs, what nothing reads are outputs. Error codes as above.
Result<ir::Model> read_frozen(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                              foreign::Trace* trace = nullptr);

/// Whether the bytes are a GraphDef, told from the first nodes and the fields of the outermost message.
bool is_graph_def(std::string_view bytes);

/// The model that `saved_model.pb` states, without the files beside it (for tests of damaged ones).
Result<ir::Model> read_message(std::shared_ptr<const MappedFile> file, const std::filesystem::path& folder,
                               std::string_view signature, std::vector<Diagnostic>& findings,
                               foreign::Trace* trace = nullptr);

/// The operators of TensorFlow that `read` knows.
foreign::ReadOperators read_operators();

}  // namespace onnxkit::saved_model
