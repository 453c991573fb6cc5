#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"

// Why a function of the library gave no result.
namespace onnxkit {

/// What a caller can do about an error. Codes say more; new codes may come, kinds stay.
enum class ErrorKind : std::uint8_t {
  internal,  ///< a fault of this library
  usage,  ///< the caller named something that does not exist or does not fit: an option, an input, a target, an opset
  input,  ///< a model, a value or a schema pack is not what it must be
  unsupported,  ///< valid, but this library or this backend cannot do it
  limit,        ///< a limit of time, memory or iterations was reached
  cancelled,    ///< stopped by the caller
  backend,      ///< a runtime outside this library failed
  io,           ///< the system could not read or write
  conflict,     ///< an output is in the way; nothing was changed
};
ONNXKIT_API std::string_view name_of(ErrorKind kind);

/// A code and its kind.
struct ErrorCodeEntry {
  std::string_view code;
  ErrorKind kind;
};

/// All codes of errors that the library makes, sorted. Codes of findings are those of explain_codes (onnxkit/check.h).
inline constexpr auto error_codes = std::to_array<ErrorCodeEntry>({
    {"ambiguous-axes", ErrorKind::usage},
    {"cancelled", ErrorKind::cancelled},
    {"cannot-read", ErrorKind::io},
    {"cannot-write", ErrorKind::io},
    {"data-file-exists", ErrorKind::conflict},
    {"device-failed", ErrorKind::backend},
    {"device-missing", ErrorKind::backend},
    {"empty-file", ErrorKind::input},
    {"external-checksum", ErrorKind::input},
    {"external-key", ErrorKind::input},
    {"external-location", ErrorKind::input},
    {"external-missing", ErrorKind::input},
    {"external-overlap", ErrorKind::limit},
    {"external-range", ErrorKind::input},
    {"external-size", ErrorKind::input},
    {"input-missing", ErrorKind::input},
    {"input-shape", ErrorKind::input},
    {"input-type", ErrorKind::input},
    {"iteration-limit", ErrorKind::limit},
    {"json-syntax", ErrorKind::input},
    {"json-too-large", ErrorKind::unsupported},
    {"json-unprintable", ErrorKind::unsupported},
    {"kernel", ErrorKind::input},
    {"malformed-archive", ErrorKind::input},
    {"malformed-model", ErrorKind::input},
    {"malformed-npy", ErrorKind::input},
    {"malformed-npz", ErrorKind::input},
    {"malformed-pickle", ErrorKind::input},
    {"malformed-protobuf", ErrorKind::input},
    {"malformed-safetensors", ErrorKind::input},
    {"memory-limit", ErrorKind::limit},
    {"missing-module", ErrorKind::io},
    {"nesting-depth", ErrorKind::input},
    {"no-answer", ErrorKind::input},
    {"no-graph", ErrorKind::input},
    {"no-model", ErrorKind::usage},
    {"not-onnx", ErrorKind::input},
    {"not-supported", ErrorKind::unsupported},
    {"opset-range", ErrorKind::usage},
    {"out-of-memory", ErrorKind::io},
    {"outcome-shape", ErrorKind::input},
    {"output-missing", ErrorKind::input},
    {"picture", ErrorKind::input},
    {"sample-axis", ErrorKind::input},
    {"schema-pack", ErrorKind::input},
    {"shape-mismatch", ErrorKind::input},
    {"sparse-tensor", ErrorKind::input},
    {"target-profile", ErrorKind::input},
    {"tensor-dims", ErrorKind::input},
    {"tensor-segment", ErrorKind::unsupported},
    {"tensor-size", ErrorKind::input},
    {"tensor-type", ErrorKind::input},
    {"text-syntax", ErrorKind::input},
    {"time-limit", ErrorKind::limit},
    {"truncated-file", ErrorKind::input},
    {"undefined-for-type", ErrorKind::unsupported},
    {"unknown-backend", ErrorKind::usage},
    {"unknown-dimension", ErrorKind::usage},
    {"unknown-domain", ErrorKind::usage},
    {"unknown-input", ErrorKind::usage},
    {"unknown-operator", ErrorKind::usage},
    {"unknown-option", ErrorKind::usage},
    {"unknown-target", ErrorKind::usage},
    {"unknown-value", ErrorKind::usage},
    {"unsupported-format", ErrorKind::usage},
    {"unsupported-npy", ErrorKind::unsupported},
    {"unsupported-operator", ErrorKind::unsupported},
    {"usage", ErrorKind::usage},
    {"worker-crashed", ErrorKind::backend},
    {"worker-failed", ErrorKind::backend},
    {"worker-invalid", ErrorKind::backend},
    {"worker-memory", ErrorKind::limit},
    {"worker-protocol", ErrorKind::backend},
    {"worker-start", ErrorKind::backend},
    {"worker-timeout", ErrorKind::limit},
    {"worker-unavailable", ErrorKind::backend},
    {"worker-unsupported", ErrorKind::unsupported},
});

/// A code of `error_codes`, made of a literal; another literal does not compile.
class ErrorCode {
 public:
  consteval ErrorCode(const char* code) : text_(code), kind_(kind_of(code)) {}

  constexpr std::string_view text() const { return text_; }
  constexpr ErrorKind kind() const { return kind_; }

 private:
  static consteval ErrorKind kind_of(std::string_view code) {
    for (const ErrorCodeEntry& entry : error_codes) {
      if (entry.code == code) return entry.kind;
    }
    throw "the code is missing in error_codes";
  }
  std::string_view text_;
  ErrorKind kind_;
};

/// Why an operation produced nothing. `diagnostic.code` and `kind` are stable; the message is for people.
struct Error {
  Diagnostic diagnostic;
  ErrorKind kind = ErrorKind::internal;
};

/// An error that has no location inside a model.
inline Error make_error(ErrorKind kind, std::string code, std::string message) {
  Error error;
  error.diagnostic.code = std::move(code);
  error.diagnostic.message = std::move(message);
  error.kind = kind;
  return error;
}

/// The same, of a code of the library, which brings its kind.
inline Error make_error(ErrorCode code, std::string message) {
  return make_error(code.kind(), std::string(code.text()), std::move(message));
}

}  // namespace onnxkit
