#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "onnxkit/c_api.h"

namespace onnxkit::tests::c_api {

/// Frees a handle by the function of its type.
struct Free {
  void operator()(onnxkit_error* handle) const { onnxkit_error_free(handle); }
  void operator()(onnxkit_text* handle) const { onnxkit_text_free(handle); }
  void operator()(onnxkit_stop* handle) const { onnxkit_stop_free(handle); }
  void operator()(onnxkit_model* handle) const { onnxkit_model_free(handle); }
  void operator()(onnxkit_value* handle) const { onnxkit_value_free(handle); }
  void operator()(onnxkit_values* handle) const { onnxkit_values_free(handle); }
  void operator()(onnxkit_session* handle) const { onnxkit_session_free(handle); }
};
template <class T>
using Handle = std::unique_ptr<T, Free>;

/// "" for no error.
inline std::string code_of(onnxkit_error* error) {
  const Handle<onnxkit_error> owned(error);
  return error ? onnxkit_error_code(error) : "";
}

/// What an error says, "" for none.
inline std::string text_of(onnxkit_error* error) {
  const Handle<onnxkit_error> owned(error);
  return error ? onnxkit_error_text(error) : "";
}

/// The text, which ends with this.
inline std::string taken(onnxkit_text* text) {
  const Handle<onnxkit_text> owned(text);
  return text ? std::string(onnxkit_text_data(text), onnxkit_text_size(text)) : std::string();
}

inline nlohmann::json json_of(onnxkit_text* text) { return nlohmann::json::parse(taken(text)); }

/// A model written as text.
inline Handle<onnxkit_model> model_of(const std::string& text) {
  onnxkit_model* model = nullptr;
  const std::string code =
      code_of(onnxkit_model_read_bytes(text.data(), text.size(), "m.onnxtxt", nullptr, &model, nullptr));
  if (!code.empty()) throw std::runtime_error(code);
  return Handle<onnxkit_model>(model);
}

}  // namespace onnxkit::tests::c_api
