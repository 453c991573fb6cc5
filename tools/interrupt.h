#pragma once

#include <cstdint>
#include <stop_token>
#include <thread>

namespace onnxkit::tools {

/// While it lives, the first Ctrl-C asks whoever holds the token to stop, the second ends the program as usual. Made before other threads.
class Interrupt {
 public:
  enum class Signals : std::uint8_t {
    interrupt,                ///< Ctrl-C
    interrupt_and_terminate,  ///< and what `kill` and `timeout` send, for work whose parts are worth having
  };
  explicit Interrupt(Signals signals = Signals::interrupt);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  std::stop_token token() const { return stop_.get_token(); }

 private:
  void wait(const std::stop_token& over);

  const Signals signals_;
  std::stop_source stop_;
  std::jthread waiter_;
};

}  // namespace onnxkit::tools
