#include "libonnxkit/base/system/thread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "libonnxkit/base/system/cgroup.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::base_thread_pool {

TEST_CASE("a loop visits every index once, in chunks of at least the grain") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const std::int64_t count : {0, 1, 2, 7, 100, 1001}) {
      for (const std::int64_t grain : {0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        std::atomic<bool> too_small = false;
        pool.for_range(count, grain, [&](std::int64_t first, std::int64_t last) {
          if (last - first < grain && last != count) too_small = true;
          for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; }));
        CHECK_FALSE(too_small);
      }
    }
  }
}

TEST_CASE("one thread, and a loop within a loop, stay in the caller") {
  ThreadPool one(1);
  std::set<std::thread::id> seen;
  one.for_range(1000, 1, [&](auto, auto) { seen.insert(std::this_thread::get_id()); });
  CHECK(seen == std::set{std::this_thread::get_id()});

  ThreadPool pool(3), other(2);
  std::atomic<std::int64_t> sum = 0;
  std::atomic<bool> left = false;
  pool.for_range(50, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (ThreadPool* inner : {&pool, &other}) {
        const auto outer_thread = std::this_thread::get_id();
        inner->for_range(10, 1, [&](std::int64_t from, std::int64_t to) {
          if (std::this_thread::get_id() != outer_thread) left = true;
          sum += to - from;
        });
      }
    }
  });
  CHECK(sum == 1000);
  CHECK_FALSE(left);
}

TEST_CASE("several callers share a pool") {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        pool.for_range(100, 1, [&](std::int64_t first, std::int64_t last) { sum += last - first; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 60000);
}

TEST_CASE("threads that stay awake between loops visit every index once, and sleep afterwards") {
  for (const int threads : {2, 3, 7}) {
    ThreadPool pool(threads);
    for (int run = 0; run < 20; ++run) {
      const ThreadPool::Busy busy(pool);
      for (int turn = 0; turn < 50; ++turn) {
        std::vector<std::atomic<int>> visits(100);
        pool.for_range(100, 1, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; }));
      }
    }
    std::timespec before{}, after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double seconds =
        static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
    CHECK(seconds < 0.05);
  }
}

TEST_CASE("an exception ends the loop and reaches the caller") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> chunks = 0;
    CHECK_THROWS_AS(pool.for_range(100000, 1,
                                   [&](std::int64_t, std::int64_t) {
                                     ++chunks;
                                     throw std::runtime_error("stop");
                                   }),
                    std::runtime_error);
    CHECK(chunks <= threads);
    std::int64_t sum = 0;  // and the pool still works
    pool.for_range(1, 1, [&](std::int64_t first, std::int64_t last) { sum += last - first; });
    CHECK(sum == 1);
  }
}

TEST_CASE("memory is bounded by the limits of control groups") {
  const TempFolder root;
  const std::uint64_t installed = usable_memory(root.path());
  CHECK(installed > 0);
  put_file(root / "proc/self/cgroup", "0::/a/b\n");
  put_file(root / "sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(usable_memory(root.path()) == installed);
  put_file(root / "sys/fs/cgroup/a/memory.max", "1048576\n");
  CHECK(usable_memory(root.path()) == 1048576);
  put_file(root / "proc/self/cgroup", "4:memory:/x\n");
  CHECK(usable_memory(root.path()) == installed);
  put_file(root / "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
  CHECK(usable_memory(root.path()) == 4096);
}

TEST_CASE("a watch ends loops on any thread, and only while it lives") {
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    std::atomic<std::int64_t> done = 0;
    const auto count = [&](std::int64_t first, std::int64_t last) { done += last - first; };
    {
      const ThreadPool::Watch watch([&] { return done >= 100; });
      CHECK_THROWS_AS(pool.for_range(100'000, 1, count), ThreadPool::Interrupted);
      CHECK(done < 100'000);
      done = 0;
      {
        const ThreadPool::Watch never([] { return false; });
        pool.for_range(1000, 7, count);
        CHECK(done == 1000);
      }
      CHECK_THROWS_AS(pool.for_range(1000, 7, count), ThreadPool::Interrupted);
    }
    done = 0;
    pool.for_range(100'000, 1, count);
    CHECK(done == 100'000);
  }
}

TEST_CASE("what runs long within one iteration, and loops within loops, ask whether they are to end") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> asked = 0;
    const ThreadPool::Watch watch([&] { return ++asked > 50; });
    const auto endless = [&](std::int64_t, std::int64_t) {
      for (;;) ThreadPool::ask_watch();
    };
    CHECK_THROWS_AS(pool.for_range(4, 1, endless), ThreadPool::Interrupted);
    asked = 0;
    const auto nested = [&](std::int64_t, std::int64_t) {
      pool.for_range(1'000'000, 1, [](std::int64_t, std::int64_t) {});
    };
    const auto many = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) nested(i, i + 1);
    };
    CHECK_THROWS_AS(pool.for_range(1'000, 1, many), ThreadPool::Interrupted);
  }
  ThreadPool::ask_watch();  // nobody wants an end
}

TEST_CASE("cores are bounded by the quotas of control groups") {
  const TempFolder root;
  const auto put = [&](const char* path, const char* text) { put_file(root / path, text); };
  CHECK(cgroup_cores(root.path()) == 0);
  put("proc/self/cgroup", "0::/a/b\n");
  CHECK(cgroup_cores(root.path()) == 0);
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(cgroup_cores(root.path()) == 0);
  put("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  CHECK(cgroup_cores(root.path()) == 4);
  put("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  CHECK(cgroup_cores(root.path()) == 1);

  put("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/y\n1:name=systemd:/\n");
  CHECK(cgroup_cores(root.path()) == 0);
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cores(root.path()) == 0);
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  CHECK(cgroup_cores(root.path()) == 2);

  CHECK(usable_cores() >= 1);
  CHECK(ThreadPool().threads() == usable_cores());
}

}  // namespace onnxkit::tests::base_thread_pool
