#pragma once

#include <string>
#include <string_view>

#include "onnxkit/model.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {

/// Reads the model at `path`; "-" is standard input, and pipes are read to their end. What the reader has to say is printed.
Result<Model> open_model(const std::string& path, const ReadOptions& options = {}, ReadReport* report = nullptr);

/// Whether this is a regular file with a binary model, by its first byte: backends in processes of their own load it there.
bool is_binary_file(const std::string& path);

/// All of a file or a named pipe.
Result<std::string> read_file(const std::string& path);

/// All of standard input.
Result<std::string> read_standard_input();

/// Writes bytes to standard output; a reader that goes away is no error.
Result<void> write_standard_output(std::string_view bytes);

/// Before any work: whether a model that was read from `input` can be written to `output` with these options. Errors: unsupported-format
/// for a name that says another format than one that can be written, usage for a binary model on a terminal, and for another framework's format,
/// which `convert` alone writes, as it proves what it has written.
enum class OutputForms : std::uint8_t { onnx, all };
Result<void> check_model_output(const std::string& output, const std::string& input, const SaveOptions& options = {},
                                OutputForms forms = OutputForms::onnx);

/// Whether standard output takes binary data, which a terminal does not. Error usage.
Result<void> check_binary_output();

/// Writes the model to `path`; "-" is standard output.
Result<SaveReport> save_model(const Model& model, const std::string& path, const SaveOptions& options = {});

/// What the saving did beside writing, for standard error: a line each for data files removed and for fields left out; else empty.
std::string saved_text(const SaveReport& report);

}  // namespace onnxkit::tools
