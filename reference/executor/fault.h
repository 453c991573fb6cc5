#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace onnxkit::reference {

/// Why a node cannot be computed. Thrown by kernels and walks, caught by the session: no Fault leaves this folder.
class Fault : public std::runtime_error {
 public:
  /// `code` is what the Error of Session::run gets; "kernel" for what an operator cannot do with its inputs,
  /// "undefined-for-type" for elements that the schema allows and nothing defines, such as strings that are interpolated.
  Fault(std::string code, const std::string& message) : std::runtime_error(message), code_(std::move(code)) {}
  explicit Fault(const std::string& message) : Fault("kernel", message) {}
  const std::string& code() const { return code_; }

 private:
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
