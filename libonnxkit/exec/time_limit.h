#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace onnxkit::exec {

/// Asks for a stop when a time is over, unless it ends before, and passes on that of the caller.
class TimeLimit {
 public:
  /// 0: no limit.
  TimeLimit(std::chrono::milliseconds time, std::stop_token outer)
      : time_(time), forward_(std::move(outer), [this] { stop(Reason::caller); }) {
    if (time.count() == 0) return;
    restart();
    waiter_ = std::jthread([this](std::stop_token done) { wait(done); });
  }

  /// The time begins anew. Wakes nobody, so it may stand in front of a run that is timed.
  void restart() {
    const std::lock_guard lock(mutex_);
    end_ = Clock::now() + time_;
  }

  std::stop_token token() const { return source_.get_token(); }
  /// The time asked for the stop, not the caller.
  bool is_over() const { return reason_ == Reason::time; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Reason : std::uint8_t { none, time, caller };

  /// The first reason counts, and stands before the stop, whose callbacks may end a run that asks for it.
  void stop(Reason reason) {
    Reason none = Reason::none;
    if (reason_.compare_exchange_strong(none, reason)) source_.request_stop();
  }

  void wait(const std::stop_token& done) {
    std::unique_lock lock(mutex_);
    while (!done.stop_requested() && Clock::now() < end_)
      changed_.wait_until(lock, done, Clock::time_point(end_), [] { return false; });
    lock.unlock();
    if (!done.stop_requested()) stop(Reason::time);
  }

  const std::chrono::milliseconds time_;
  Clock::time_point end_;
  std::stop_source source_;
  std::atomic<Reason> reason_ = Reason::none;
  std::stop_callback<std::function<void()>> forward_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread waiter_;  // last: ends before what it uses
};

}  // namespace onnxkit::exec
