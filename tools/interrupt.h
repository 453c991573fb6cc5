#pragma once

#include <stop_token>
#include <thread>

namespace onnxkit::tools {

/// While it lives, the first Ctrl-C asks whoever holds the token to stop, the second ends the program as usual. Made before other threads.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread waiter_;
};

}  // namespace onnxkit::tools
