#include "libonnxkit/base/system/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "libonnxkit/base/system/cgroup.h"

namespace onnxkit {
namespace {

thread_local bool inside_loop = false;
thread_local const std::function<bool()>* watch = nullptr;

/// Logical processors in the affinity mask; 0 when it cannot be read.
int affinity_cores() {
  for (int processors = CPU_SETSIZE; processors <= 1 << 20; processors *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(processors),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
  }
  return 0;
}

/// How long a thread asks again and again for what is about to come before it sleeps: longer than waking one up takes.
constexpr std::chrono::microseconds spin_time(200);
constexpr int asks_between_clocks = 64;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Whether the condition came true within the time.
template <class Condition>
bool spin_until(const Condition& condition) {
  std::chrono::steady_clock::time_point end{};
  for (;;) {
    for (int i = 0; i < asks_between_clocks; ++i, pause_briefly()) {
      if (condition()) return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point()) end = now + spin_time;
    if (now >= end) return false;
  }
}

using Body = std::function<void(std::int64_t, std::int64_t)>;

/// A range in parts of some milliseconds, which grow from the smallest one, where somebody is to be asked between them.
void run_body(const Body& body, std::int64_t first, std::int64_t last, std::int64_t grain,
              const std::function<bool()>* is_over) {
  if (!is_over) return body(first, last);
  constexpr std::chrono::microseconds enough(2000);
  constexpr std::int64_t growth = 8;  // few clocks, which take as long as a small step
  std::int64_t part = std::max<std::int64_t>(grain, 1);
  while (first < last) {
    if ((*is_over)()) throw ThreadPool::Interrupted();
    if (last - first <= part) return body(first, last);
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t end = first + part;
    body(first, end);
    const auto taken = std::chrono::steady_clock::now() - start;
    if (taken < enough) part = taken < enough / growth ? growth * part : 2 * part;
    first = end;
  }
}

}  // namespace

int usable_cores() {
  int cores = affinity_cores();
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  if (const int quota = cgroup_cores(); quota > 0) cores = std::min(cores, quota);
  return std::max(cores, 1);
}

struct ThreadPool::State {
  /// Chunks in as many parts as threads. A thread begins with the part of its number, so that it finds in its cache what it wrote in the loop before,
  /// and then helps with the others.
  class Loop {
   public:
    Loop(const Body& body, std::int64_t count, std::int64_t grain, std::int64_t chunk, int threads)
        : body_(body), is_over_(watch), count_(count), grain_(grain), chunk_(chunk), chunks_((count - 1) / chunk + 1) {
      parts_ = std::min<std::int64_t>({threads, chunks_, most_parts});
      for (std::int64_t part = 0; part < parts_; ++part)
        next_[static_cast<std::size_t>(part)].chunk.store(first_of(part), std::memory_order_relaxed);
    }

    std::int64_t chunks() const { return chunks_; }
    const std::exception_ptr& error() const { return error_; }

    void work(std::int64_t thread) {
      inside_loop = true;
      const auto* const before = std::exchange(watch, is_over_);
      for (std::int64_t i = 0; i < parts_; ++i) work_on((thread + i) % parts_);
      watch = before;
      inside_loop = false;
    }

   private:
    static constexpr std::int64_t most_parts = 64;
    struct alignas(64) Next {
      std::atomic<std::int64_t> chunk;
    };

    std::int64_t first_of(std::int64_t part) const { return chunks_ * part / parts_; }

    void work_on(std::int64_t part) {
      const std::int64_t end = first_of(part + 1);
      std::atomic<std::int64_t>& next = next_[static_cast<std::size_t>(part)].chunk;
      while (!has_failed_.load(std::memory_order_relaxed)) {
        const std::int64_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= end) return;
        try {
          run_body(body_, index * chunk_, std::min(count_, (index + 1) * chunk_), grain_, is_over_);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!error_) error_ = std::current_exception();
          has_failed_ = true;
        }
      }
    }

    const Body& body_;
    const std::function<bool()>* const is_over_;
    const std::int64_t count_, grain_, chunk_, chunks_;
    std::int64_t parts_;
    std::atomic<bool> has_failed_ = false;
    std::mutex mutex_;
    std::exception_ptr error_;
    std::array<Next, most_parts> next_;
  };

  explicit State(int count) : threads(count) {}

  ~State() {
    ending = true;
    ++calls;
    calls.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  /// Threads are made when they are first needed; a system that refuses some leaves us with fewer.
  void start_workers() {
    try {
      while (static_cast<int>(workers.size()) < threads - 1)
        workers.emplace_back([this, number = static_cast<std::int64_t>(workers.size()) + 1, served = calls.load()] {
          serve(number, served);
        });
    } catch (const std::system_error&) {
    }
  }

  void serve(std::int64_t number, std::uint32_t served) {
    bool spins = false;
    for (;;) {
      await_call(served, spins);
      served = calls;
      if (ending) return;
      // Counted before the loop is looked at: the caller takes the loop away first and waits for the count then.
      ++working;
      if (Loop* const current = loop) current->work(number);
      spins = busy != 0;
      if (--working == 0) working.notify_one();
    }
  }

  void await_call(std::uint32_t served, bool spins) {
    if (spins && spin_until([&] { return calls != served; })) return;
    while (calls == served) {
      ++asleep;
      calls.wait(served);
      --asleep;
    }
  }

  void run(Loop& current) {
    start_workers();
    loop = &current;
    ++calls;
    const auto all = static_cast<std::int64_t>(workers.size());
    const std::int64_t wanted = std::min(current.chunks() - 1, all);
    for (std::int64_t awake = all - asleep; awake < wanted; ++awake) calls.notify_one();
    current.work(0);
    loop = nullptr;  // a thread that wakes up only now has nothing to join
    if (busy != 0) spin_until([&] { return working == 0; });
    for (int left = working; left != 0; left = working) working.wait(left);
  }

  const int threads;
  std::mutex looping;  ///< held for the length of a loop
  std::vector<std::thread> workers;
  std::atomic<Loop*> loop = nullptr;
  std::atomic<std::uint32_t> calls = 0;  ///< loops so far, and the end
  std::atomic<int> working = 0;          ///< threads that may be inside the loop
  std::atomic<int> asleep = 0;           ///< threads that have to be woken up
  std::atomic<int> busy = 0;             ///< of the objects Busy
  std::atomic<bool> ending = false;
};

ThreadPool::Watch::Watch(std::function<bool()> is_over) : is_over_(std::move(is_over)), before_(watch) {
  watch = &is_over_;
}
ThreadPool::Watch::~Watch() { watch = before_; }

void ThreadPool::ask_watch() {
  if (watch && (*watch)()) throw Interrupted();
}

ThreadPool::Busy::Busy(ThreadPool& pool) : pool_(pool) { ++pool_.state_->busy; }
ThreadPool::Busy::~Busy() { --pool_.state_->busy; }

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(threads > 0 ? threads : usable_cores())) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::for_range(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  // A few chunks a thread even out what differs between them.
  const std::int64_t even = (count - 1) / (std::int64_t{4} * threads()) + 1;
  const std::int64_t chunk = std::min(std::max(even, grain), count);
  const std::int64_t chunks = (count - 1) / chunk + 1;
  std::unique_lock alone(state_->looping, std::defer_lock);
  if (chunks == 1) return body(0, count);
  if (threads() == 1 || inside_loop || !alone.try_lock()) return run_body(body, 0, count, grain, watch);
  State::Loop loop(body, count, grain, chunk, threads());
  state_->run(loop);
  if (loop.error()) std::rethrow_exception(loop.error());
}

}  // namespace onnxkit
