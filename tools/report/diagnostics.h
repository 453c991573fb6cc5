#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "onnxkit/diagnostic.h"
#include "onnxkit/error.h"
#include "onnxkit/fix.h"

namespace onnxkit::tools {

/// onnxkit::format, with the colours of a terminal or without.
std::string diagnostic_text(const Diagnostic& diagnostic, bool color);

/// "model.onnx: fixed[not-sorted]: node 3 moved behind node 7", and where.
std::string fix_text(const Fix& fix, bool color);

/// "main / node 17 / input 1 "x" Conv "conv4""; empty for a model as a whole.
std::string place_text(const Location& location);

nlohmann::ordered_json location_json(const Location& location);

/// One finding for programs (docs/json/check.schema.json). Names are as in the file; bytes that are not UTF-8 become U+FFFD when printed.
nlohmann::ordered_json diagnostic_json(const Diagnostic& diagnostic);

/// What was fixed (docs/json/check.schema.json).
nlohmann::ordered_json fixes_json(const std::vector<Fix>& fixes);

/// Why a command gave no result (docs/json/error.schema.json).
std::string error_json(std::string_view command, const Error& error, int exit_status);

/// A number, or "NaN", "Infinity", "-Infinity", which JSON has no numbers for.
nlohmann::ordered_json real_json(double number);

/// JSON text of two-space indentation, ending in a line break.
std::string json_text(const nlohmann::ordered_json& json);

inline constexpr std::string_view bold = "\x1b[1m";  ///< a `paint`
/// `text` between the terminal's escape sequence `paint` and the one that ends it; as it is without colour.
std::string painted(std::string_view paint, std::string_view text, bool color);

/// What findings call a model that came from standard input.
inline constexpr const char* standard_input_name = "<stdin>";

/// The error, with the model at `path` as its file unless it names one.
Error in_file(Error error, const std::string& path);

/// The path of a model as messages show it.
std::string shown_path(const std::string& path);

/// "1 error", "2 errors".
std::string counted(std::size_t count, std::string_view what);

}  // namespace onnxkit::tools
