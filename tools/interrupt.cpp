#include "tools/interrupt.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>

namespace onnxkit::tools {
namespace {

sigset_t interrupt_set(Interrupt::Signals signals) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  if (signals == Interrupt::Signals::interrupt_and_terminate) sigaddset(&set, SIGTERM);
  return set;
}

/// `timeout` sends its signal to the program and then to its group, which is the program again. Ctrl-C comes from the kernel.
constexpr std::chrono::milliseconds twin{500};

}  // namespace

Interrupt::Interrupt(Signals signals) : signals_(signals) {
  const sigset_t set = interrupt_set(signals_);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this](const std::stop_token& over) { wait(over); });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGINT);  // so that nobody waits for the pause to end
  waiter_.join();
  const sigset_t set = interrupt_set(signals_);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::wait(const std::stop_token& over) {
  using Clock = std::chrono::steady_clock;
  const sigset_t waited = interrupt_set(signals_);
  const timespec pause{0, 50'000'000};
  Clock::time_point twin_ends = Clock::now();
  // What ends soon after a signal waits for its twin, which would end the program before it has written its results.
  while (!over.stop_requested() || Clock::now() < twin_ends) {
    siginfo_t from{};
    const int signal = sigtimedwait(&waited, &from, &pause);
    if (signal < 0 || from.si_pid == ::getpid()) continue;  // the destructor sends it
    if (from.si_code == SI_USER && Clock::now() < twin_ends) {
      twin_ends = Clock::now();
      continue;
    }
    if (over.stop_requested()) {
      ::kill(::getpid(), signal);
      return;
    }
    if (stop_.stop_requested()) {
      std::signal(signal, SIG_DFL);
      pthread_sigmask(SIG_UNBLOCK, &waited, nullptr);
      std::raise(signal);
    }
    if (from.si_code == SI_USER) twin_ends = Clock::now() + twin;
    stop_.request_stop();
  }
}

}  // namespace onnxkit::tools
