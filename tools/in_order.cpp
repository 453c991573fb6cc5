#include "tools/in_order.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace onnxkit::tools {
namespace {

struct Slot {
  bool done = false;
  std::exception_ptr thrown;
};

}  // namespace

void in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
              const std::function<bool(std::size_t)>& take) {
  jobs = std::min(std::max<std::size_t>(jobs, 1), count);
  if (jobs == 1) {  // a thread costs as much as a small model
    for (std::size_t i = 0; i < count; ++i) {
      work(i);
      if (!take(i)) return;
    }
    return;
  }
  std::vector<Slot> slots(count);
  std::mutex mutex;
  std::condition_variable finished;
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      std::exception_ptr thrown;
      try {
        work(i);
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      slots[i] = {true, thrown};
      finished.notify_one();
    }
  };
  struct Stop {
    std::atomic<std::size_t>& next;
    std::size_t count;
    ~Stop() { next = count; }
  };
  std::vector<std::jthread> threads;
  const Stop stop{next, count};  // runs before the threads are joined: an early end takes no new work
  for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back(run);
  for (std::size_t i = 0; i < count; ++i) {
    {
      std::unique_lock lock(mutex);
      finished.wait(lock, [&] { return slots[i].done; });
    }
    if (slots[i].thrown) std::rethrow_exception(slots[i].thrown);
    if (!take(i)) return;
  }
}

}  // namespace onnxkit::tools
