#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "onnxkit/error.h"

namespace onnxkit::reference {

/// Why a node cannot be computed. Thrown by kernels and passes over graphs, caught by the session: no Fault leaves this folder.
class Fault : public std::runtime_error {
 public:
  /// `code` is what the Error of Session::run gets; "kernel" for what an operator cannot do with its inputs,
  /// "undefined-for-type" for elements that the schema allows and nothing defines, such as strings that are interpolated.
  Fault(ErrorCode code, const std::string& message) : Fault(code.kind(), std::string(code.text()), message) {}
  Fault(ErrorKind kind, std::string code, const std::string& message)
      : std::runtime_error(message), kind_(kind), code_(std::move(code)) {}
  explicit Fault(const std::string& message) : Fault("kernel", message) {}
  Error error() const { return make_error(kind_, code_, what()); }

 private:
  ErrorKind kind_;
  std::string code_;
};

/// The message is built only when needed where it is more than a literal: pass a callable then.
template <class Message>
void require(bool holds, Message&& message) {
  if (holds) return;
  if constexpr (requires { message(); })
    throw Fault(message());
  else
    throw Fault(std::forward<Message>(message));
}

}  // namespace onnxkit::reference
