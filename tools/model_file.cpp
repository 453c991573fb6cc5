#include "tools/model_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/options/output.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

Error system_error(ErrorCode code, const char* name, const char* what) {
  Error error = make_error(code, std::string(what) + ": " + std::strerror(errno));
  error.diagnostic.location.file = name;
  return error;
}

Result<std::string> read_all(int file, const char* name) {
  constexpr std::size_t step = std::size_t{1} << 20;
  std::string bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + step);
    const ssize_t got = ::read(file, bytes.data() + before, step);
    bytes.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return system_error("cannot-read", name, "cannot read");
  }
}

Result<Model> read_stream(int file, const char* name, const ReadOptions& options) {
  auto bytes = read_all(file, name);
  if (!bytes) return std::move(bytes).error();
  return read_model_bytes(*std::move(bytes), name, options);
}

/// A named pipe, or what the shell makes of <(command).
Result<Model> read_pipe(const std::string& path, const ReadOptions& options) {
  auto bytes = read_file(path);
  if (!bytes) return std::move(bytes).error();
  return read_model_bytes(*std::move(bytes), path, options);
}

}  // namespace

bool is_binary_file(const std::string& path) {
  std::error_code fault;
  if (path == "-" || !std::filesystem::is_regular_file(path, fault)) return false;
  constexpr int ir_version_field = 0x08;
  return std::ifstream(path, std::ios::binary).get() == ir_version_field;
}

Result<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error("cannot-read", path.c_str(), "cannot open");
  auto bytes = read_all(file, path.c_str());
  ::close(file);
  return bytes;
}

Result<std::string> read_standard_input() { return read_all(STDIN_FILENO, standard_input_name); }

Result<void> write_standard_output(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return {};  // the reader has what it wanted
    if (written < 0) return system_error("cannot-write", "<stdout>", "cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<Model> open_model(const std::string& path, const ReadOptions& options, ReadReport* report) {
  if (path.empty()) return make_error("cannot-read", "the name of the model file is empty");
  if (path == "-") return read_stream(STDIN_FILENO, standard_input_name, options);
  std::error_code status;
  if (std::filesystem::is_fifo(path, status)) return read_pipe(path, options);
  ReadReport own_report;
  ReadReport& reading = report ? *report : own_report;
  auto model = read_model(path, options, &reading);
  for (Diagnostic diagnostic : reading.diagnostics) {
    if (diagnostic.location.file.empty()) diagnostic.location.file = path;
    std::fputs(diagnostic_text(diagnostic, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  }
  return model;
}

Result<void> check_binary_output() {
  if (::isatty(STDOUT_FILENO) == 0) return {};
  Error error = make_error("usage", "standard output is a terminal, which cannot show binary data");
  error.diagnostic.help = "name a file, or redirect the output; | cat writes it to the terminal nevertheless";
  return error;
}

Result<void> check_model_output(const std::string& output, const std::string& input, const SaveOptions& options,
                                OutputForms forms) {
  if (output == "-")
    return options.format.empty() || options.format == "binary" ? check_binary_output() : Result<void>();
  const auto by_name = output_format(output);
  if (forms == OutputForms::onnx && options.format.empty() && by_name && !by_name->is_onnx) {
    Error error =
        make_error("usage", quote(output) + " is the name of " + by_name->title + ", which only convert writes");
    error.diagnostic.help = "write the result to a .onnx file, then convert that";
    return error;
  }
  std::error_code status;
  // A file that was read stays what it is whatever its name.
  if (!options.format.empty() || std::filesystem::equivalent(output, input, status)) return {};
  return by_name ? Result<void>() : by_name.error();
}

Result<SaveReport> save_model(const Model& model, const std::string& path, const SaveOptions& options) {
  return path == "-" ? write_model(model, write_standard_output, options) : write_model(model, path, options);
}

std::string saved_text(const SaveReport& report) {
  std::string text;
  for (const std::filesystem::path& file : report.removed) text += "removed " + quote(file.string()) + "\n";
  if (!report.moved_weights.empty())
    text += "weights are in " + quote(report.moved_weights.string()) +
            ": in one file the model would exceed 2 GiB, which protobuf-based readers reject\n";
  if (report.exceeds_protobuf) text += "onnxkit: the model file exceeds 2 GiB, which protobuf-based readers reject\n";
  std::size_t count = 0;
  std::string locations;
  for (const auto& [message, fields] : report.unknown_fields) {
    count += fields;
    locations += fmt::format("{}{} in {}", locations.empty() ? "" : ", ", fields, message);
  }
  if (count > 0)
    text += fmt::format(
        "onnxkit: {} unknown to the ONNX schema kept as \"unknown_fields\", a key that only onnxkit reads: {}\n",
        counted(count, "field"), locations);
  return text;
}

}  // namespace onnxkit::tools
