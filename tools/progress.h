#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace onnxkit::tools {

/// A progress bar on standard error: drawn only on a terminal, and only for what takes longer than two seconds.
class Progress {
 public:
  Progress(std::string label, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more of the total is done; from any thread.
  void advance() { ++done_; }
  /// One more is done, and what comes next takes the place of the label.
  void next(std::string label) {
    const std::lock_guard lock(mutex_);
    label_ = std::move(label);
    ++done_;
  }
  /// Takes the bar away until `print` returns, so that its output starts on a line of its own.
  template <class Print>
  void while_hidden(const Print& print) {
    const std::lock_guard lock(mutex_);
    erase();
    print();
  }

 private:
  void run();
  void draw();
  void erase();

  std::string label_;
  const std::size_t total_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace onnxkit::tools
