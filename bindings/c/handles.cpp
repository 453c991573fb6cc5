#include "bindings/c/handles.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "onnxkit/version.h"
#include "tools/report/diagnostics.h"

struct onnxkit_error {
  onnxkit_error_kind kind;
  const char *code, *message, *text, *json;
};

namespace onnxkit::c {
namespace {

/// All but the one without memory.
struct OwnedError : onnxkit_error {
  std::string code_text, message_text, lines, json_text;
};

constinit onnxkit_error without_memory = {
    ONNXKIT_ERROR_IO, "out-of-memory", "the system has not enough memory",
    "error[out-of-memory]: the system has not enough memory\n",
    R"({"code":"out-of-memory","severity":"error","message":"the system has not enough memory","place":{"path":"","scope":[]}})"};

onnxkit_error_kind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return ONNXKIT_ERROR_USAGE;
    case ErrorKind::input:
      return ONNXKIT_ERROR_INPUT;
    case ErrorKind::unsupported:
      return ONNXKIT_ERROR_UNSUPPORTED;
    case ErrorKind::limit:
      return ONNXKIT_ERROR_LIMIT;
    case ErrorKind::cancelled:
      return ONNXKIT_ERROR_CANCELLED;
    case ErrorKind::backend:
      return ONNXKIT_ERROR_BACKEND;
    case ErrorKind::io:
      return ONNXKIT_ERROR_IO;
    case ErrorKind::conflict:
      return ONNXKIT_ERROR_CONFLICT;
    case ErrorKind::internal:
      break;
  }
  return ONNXKIT_ERROR_INTERNAL;
}

onnxkit_error* internal(const char* what) noexcept {
  return or_null([&] { return given(make_error(ErrorKind::internal, "internal", what)); });
}

}  // namespace

onnxkit_error* given(const Error& error) noexcept {
  try {
    auto owned = std::make_unique<OwnedError>();
    owned->kind = kind_of(error.kind);
    owned->code = (owned->code_text = error.diagnostic.code).c_str();
    owned->message = (owned->message_text = headline(error.diagnostic)).c_str();
    owned->text = (owned->lines = format(error.diagnostic)).c_str();
    owned->json = (owned->json_text = tools::json_text(tools::diagnostic_json(error.diagnostic))).c_str();
    return owned.release();
  } catch (...) {
    return &without_memory;
  }
}

onnxkit_error* given(std::exception_ptr exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return &without_memory;
  } catch (const std::length_error&) {
    return &without_memory;
  } catch (const std::exception& fault) {
    return internal(fault.what());
  } catch (...) {
    return internal("an exception of an unknown type");
  }
}

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

const char* onnxkit_version_text(void) { return version().data(); }

onnxkit_error_kind onnxkit_error_get_kind(const onnxkit_error* error) { return error->kind; }
const char* onnxkit_error_code(const onnxkit_error* error) { return error->code; }
const char* onnxkit_error_message(const onnxkit_error* error) { return error->message; }
const char* onnxkit_error_text(const onnxkit_error* error) { return error->text; }
const char* onnxkit_error_json(const onnxkit_error* error) { return error->json; }
void onnxkit_error_free(onnxkit_error* error) {
  if (error != &without_memory) delete static_cast<OwnedError*>(error);
}

const char* onnxkit_text_data(const onnxkit_text* text) { return text->bytes.c_str(); }
size_t onnxkit_text_size(const onnxkit_text* text) { return text->bytes.size(); }
void onnxkit_text_free(onnxkit_text* text) { delete text; }

onnxkit_stop* onnxkit_stop_new(void) {
  return or_null([] { return new onnxkit_stop; });
}
void onnxkit_stop_request(onnxkit_stop* stop) { stop->source.request_stop(); }
void onnxkit_stop_free(onnxkit_stop* stop) { delete stop; }

}  // extern "C"
