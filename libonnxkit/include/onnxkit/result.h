#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "onnxkit/error.h"

namespace onnxkit {

/// A value of T or the Error that prevented it. Never both, never neither.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  /// Precondition: ok(), which builds without NDEBUG assert.
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  /// Precondition: !ok(), which builds without NDEBUG assert.
  const Error& error() const& { return *fault(); }
  Error&& error() && { return std::move(*fault()); }

 private:
  T* value() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  Error* fault() {
    assert(!ok());
    return std::get_if<1>(&state_);
  }
  const Error* fault() const {
    assert(!ok());
    return std::get_if<1>(&state_);
  }

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
  /// Precondition: !ok(), which builds without NDEBUG assert.
  const Error& error() const& {
    assert(error_);
    return *error_;
  }
  Error&& error() && {
    assert(error_);
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace onnxkit
