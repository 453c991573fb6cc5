#include "tools/interrupt.h"

#include <csignal>
#include <ctime>

namespace onnxkit::tools {
namespace {

sigset_t interrupt_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this](const std::stop_token& over) {
    const sigset_t waited = interrupt_set();
    const timespec pause{0, 50'000'000};
    while (!over.stop_requested()) {
      if (sigtimedwait(&waited, nullptr, &pause) != SIGINT) continue;
      if (stop_.stop_requested()) {
        std::signal(SIGINT, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &waited, nullptr);
        std::raise(SIGINT);
      }
      stop_.request_stop();
    }
  });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  waiter_.join();
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace onnxkit::tools
