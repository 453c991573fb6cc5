#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tools/options/notes.h"

namespace onnxkit::tools {

/// A progress bar on standard error: drawn only on a terminal, and only for what takes longer than two seconds. With Notes::steps each
/// step is a line instead.
class Progress {
 public:
  Progress(std::string label, std::size_t total, Notes notes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Work on `item` begins; from any thread.
  void start(std::string_view item);
  /// One more of the total is done; from any thread.
  void advance() { ++done_; }
  /// What the work is at now takes the place of the label; from any thread.
  void at(std::string label);
  /// One more is done, and what comes next takes the place of the label.
  void next(std::string label);
  /// Takes the bar away until `print` returns, so that its output starts on a line of its own.
  template <class Print>
  void while_hidden(const Print& print) {
    const std::lock_guard lock(mutex_);
    erase();
    print();
  }

 private:
  void tell(std::string_view step) const;
  void run();
  void draw();
  void erase();

  std::string label_;
  const std::size_t total_;
  const bool tells_steps_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace onnxkit::tools
