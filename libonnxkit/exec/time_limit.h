#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
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
      : forward_(std::move(outer), [this] { source_.request_stop(); }) {
    if (time.count() == 0) return;
    waiter_ = std::jthread([this, time](std::stop_token done) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, done, time, [] { return false; });
      if (!done.stop_requested()) is_over_ = source_.request_stop();
    });
  }

  std::stop_token token() const { return source_.get_token(); }
  /// The time asked for the stop, not the caller.
  bool is_over() const { return is_over_; }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> forward_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<bool> is_over_ = false;
  std::jthread waiter_;  // last: ends before what it uses
};

}  // namespace onnxkit::exec
