#pragma once

#include <exception>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "onnxkit/c_api.h"
#include "onnxkit/error.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/session.h"
#include "onnxkit/value.h"

// What the handles of the C interface hold.

struct onnxkit_text {
  std::string bytes;
};

struct onnxkit_stop {
  std::stop_source source;
};

struct onnxkit_model {
  onnxkit::Model model;
};

struct onnxkit_value {
  onnxkit::Value value;
};

struct onnxkit_values {
  std::vector<onnxkit::NamedValue> list;
};

struct onnxkit_session {
  onnxkit::Session session;
};

namespace onnxkit::c {

/// The error for a caller; the one without memory where there is no memory for it.
onnxkit_error* given(const Error& error) noexcept;
onnxkit_error* given(std::exception_ptr exception) noexcept;

/// Calls `work`, which returns Result<void>: NULL, or the error. No exception reaches the caller.
template <class Work>
onnxkit_error* guarded(Work&& work) noexcept {
  try {
    const Result<void> done = work();
    return done ? nullptr : given(done.error());
  } catch (...) {
    return given(std::current_exception());
  }
}

/// What `make` gives, or NULL without memory.
template <class Make>
auto or_null(Make&& make) noexcept -> decltype(make()) {
  try {
    return make();
  } catch (...) {
    return nullptr;
  }
}

/// Sets what a caller wants to have; it may want nothing.
inline void set(onnxkit_text** target, std::string bytes) {
  if (target) *target = new onnxkit_text{std::move(bytes)};
}

/// Sets the report that `call` gives as Result<std::string>: NULL, or its error.
template <class Call>
onnxkit_error* reported(onnxkit_text** report, Call&& call) {
  return guarded([&]() -> Result<void> {
    Result<std::string> text = call();
    if (!text) return text.error();
    set(report, *std::move(text));
    return {};
  });
}

/// Without a handle: the error usage.
inline Result<void> needs(const void* argument, const char* name) {
  return argument ? Result<void>() : make_error("usage", std::string("the argument ") + name + " is NULL");
}

inline std::stop_token token_of(const onnxkit_stop* stop) {
  return stop ? stop->source.get_token() : std::stop_token();
}

inline std::string text_or_empty(const char* text) { return text ? text : ""; }

}  // namespace onnxkit::c
