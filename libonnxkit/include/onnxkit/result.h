#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "onnxkit/diagnostic.h"

namespace onnxkit {

/// Why an operation produced nothing. `diagnostic.code` is stable; the message is for people.
struct Error {
  Diagnostic diagnostic;
};

/// Shorthand for an error that has no location inside a model.
inline Error make_error(std::string code, std::string message) {
  Error error;
  error.diagnostic.code = std::move(code);
  error.diagnostic.message = std::move(message);
  return error;
}

/// A value of T or the Error that prevented it. Never both, never neither.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  /// Precondition: ok().
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  /// Precondition: !ok().
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace onnxkit
