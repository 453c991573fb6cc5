#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace onnxkit {

/// Cores that this process may use: the least of the affinity mask and the cgroup's quota, at least 1.
int usable_cores();

/// Threads that share the chunks of one loop at a time; the caller works too.
class ThreadPool {
 public:
  /// `threads` counts the caller; 0 means usable_cores().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls body(first, last) for ranges that together make up [0, count), each of at least `grain` iterations but the last. Runs in the
  /// caller alone when there is one chunk, the caller is itself inside a loop of a pool, or another thread's loop has the pool. The first
  /// exception that a body throws ends the loop early and is thrown here.
  void for_range(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

  /// A loop ended early, since a Watch said so.
  struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
  };

  /// While one lives, loops that its thread starts, and loops within them, ask it every few milliseconds, on any of their threads, and end with
  /// Interrupted once `is_over()` is true; chunks are taken in parts for that.
  class Watch {
   public:
    explicit Watch(std::function<bool()> is_over);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    std::function<bool()> is_over_;
    const std::function<bool()>* before_;
  };

  /// What takes long within one iteration calls it now and then. Throws Interrupted where a Watch of the thread that started the loop says so.
  static void ask_watch();

  /// While one lives, loops follow one another closely: threads stay awake for a fraction of a millisecond after each.
  class Busy {
   public:
    explicit Busy(ThreadPool& pool);
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    ThreadPool& pool_;
  };

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit
