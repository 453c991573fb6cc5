#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/export.h"

namespace onnxkit {

enum class Severity { error, warning, info };

ONNXKIT_API const char* to_string(Severity severity);

/// Where in a model something is. Names are raw bytes from the file: quote them before printing (see `quote`).
struct Location {
  /// Path of the model file, empty when the model came from memory.
  std::string file;
  /// From the outside in: "main", "node 3", "then_branch", ... or "function pkg::Block". Empty for the model as a whole.
  std::vector<std::string> scope;
  /// Index of the node inside the innermost graph of `scope`.
  std::optional<std::uint64_t> node;
  std::string node_name;
  /// Operator with its domain ("com.microsoft::Gelu"), the domain left out when it is ai.onnx.
  std::string op;
  /// "input 1", "output 0", "attribute axis", "initializer", "value_info", "opset_import 0" ...; empty for the node or graph itself.
  std::string item;
  /// Name of the value, tensor or attribute that `item` means.
  std::string item_name;
  /// Byte offset in the file, for faults of the container.
  std::optional<std::uint64_t> byte_offset;

  /// "main / node 3 / then_branch / node 0 / input 1 "x"", without the file.
  ONNXKIT_API std::string path() const;
};

/// One finding. The library collects diagnostics; only tools print them.
struct Diagnostic {
  /// Stable kebab-case code, e.g. "shape-mismatch"; `check --explain CODE` tells more.
  std::string code;
  Severity severity = Severity::error;
  Location location;
  std::string message;
  std::string expected;
  std::string found;
  std::vector<std::string> notes;
  /// A known way out, or empty.
  std::string help;
};

/// How `format` writes a finding: plain, or with the colours of a terminal.
enum class TextStyle : std::uint8_t { plain, color };

/// A finding as people read it, over several lines, ending in a line break:
///     model.onnx: error[shape-mismatch]: Gemm "fc1": inner sizes differ
///       at       main / node 41 / input 1 "fc1.weight"
///       expected ...
/// Control characters and the like, which can only come from the model, are escaped.
ONNXKIT_API std::string format(const Diagnostic& diagnostic, TextStyle style = TextStyle::plain);

/// The message behind the operator and the name of its node, where it has them: `Gemm "fc1": inner sizes differ`. Nothing else is escaped.
ONNXKIT_API std::string headline(const Diagnostic& diagnostic);

/// `text` with what could steer a terminal or a log written as escapes: control characters (C0 and C1), line breaks, marks that change
/// the writing direction, and bytes that are not UTF-8.
ONNXKIT_API std::string without_controls(std::string_view text);

/// `text` in double quotes with quotes, backslashes and what without_controls escapes written as escapes; shortened beyond `limit` bytes.
ONNXKIT_API std::string quote(std::string_view text, std::size_t limit = 120);

}  // namespace onnxkit
