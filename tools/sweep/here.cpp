#include <poll.h>

#include <algorithm>
#include <list>
#include <utility>

#include "libonnxkit/base/system/thread_pool.h"
#include "tools/sweep/child.h"
#include "tools/sweep/runner.h"

namespace onnxkit::tools {
namespace {

constexpr std::chrono::milliseconds look{50};
constexpr double grace_seconds = 2;

/// Sets of processors, each for one job at a time.
std::vector<cpu_set_t> processor_sets(int each) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  ::sched_getaffinity(0, sizeof usable, &usable);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &usable)) processors.push_back(i);
  const int at_a_time = std::max(1, usable_cores() / each);  // fewer than the sets where there is a quota
  const auto count = static_cast<std::size_t>(std::max(1, static_cast<int>(processors.size()) / at_a_time));
  std::vector<cpu_set_t> sets;
  for (int job = 0; job < at_a_time; ++job) {
    cpu_set_t& set = sets.emplace_back();
    CPU_ZERO(&set);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(job) * count + i;
      if (at < processors.size()) CPU_SET(processors[at], &set);
    }
  }
  return sets;
}

class Pool {
 public:
  Pool(std::span<const SweepJob> jobs, const JobLimits& limits, const OnJobEnd& on_end)
      : jobs_(jobs), limit_(static_cast<double>(limits.time_ms) / 1000), on_end_(on_end) {
    free_ = processor_sets(limits.processors);
  }

  void run(const std::stop_token& stop) {
    while (goes_on_ && !stop.stop_requested() && (next_ < jobs_.size() || !running_.empty())) {
      while (next_ < jobs_.size() && !free_.empty() && goes_on_) start(jobs_[next_++]);
      wait();
      collect();
    }
  }

 private:
  struct Running {
    std::size_t index;
    Child child;
    cpu_set_t processors;
    bool is_late = false;
    double asked_at = 0;  ///< seconds after its start when it was told to end
  };

  void tell(JobEnd end, std::size_t index) {
    end.index = index;
    goes_on_ = on_end_(std::move(end)) && goes_on_;
  }

  void start(const SweepJob& job) {
    auto child = Child::start(job.words, free_.back());
    if (!child) {
      JobEnd end;
      end.failure = child.error().diagnostic.message;
      return tell(std::move(end), job.index);
    }
    running_.push_back({job.index, *std::move(child), free_.back()});
    free_.pop_back();
  }

  void wait() const {
    std::vector<pollfd> handles;
    for (const Running& job : running_) handles.push_back({job.child.handle(), POLLIN, 0});
    ::poll(handles.data(), handles.size(), static_cast<int>(look.count()));
  }

  void end_if_late(Running& job) const {
    const double seconds = job.child.seconds();
    if (limit_ <= 0 || seconds < limit_ || (job.is_late && seconds < job.asked_at + grace_seconds)) return;
    job.is_late = true;
    job.asked_at = seconds;
    job.child.end();
  }

  void collect() {
    for (auto job = running_.begin(); job != running_.end() && goes_on_;) {
      JobEnd end;
      if (!job->child.has_ended(end)) {
        end_if_late(*job++);
        continue;
      }
      end.is_late = job->is_late;
      const std::size_t index = job->index;
      free_.push_back(job->processors);
      job = running_.erase(job);
      tell(std::move(end), index);
    }
  }

  std::span<const SweepJob> jobs_;
  const double limit_;
  const OnJobEnd& on_end_;
  std::vector<cpu_set_t> free_;
  std::list<Running> running_;
  std::size_t next_ = 0;
  bool goes_on_ = true;
};

}  // namespace

Result<void> run_here(std::span<const SweepJob> jobs, const JobLimits& limits, const OnJobEnd& on_end,
                      const std::stop_token& stop) {
  Pool(jobs, limits, on_end).run(stop);
  return {};
}

}  // namespace onnxkit::tools
