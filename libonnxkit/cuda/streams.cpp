#include "libonnxkit/cuda/streams.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/device.h"

namespace onnxkit::cuda {

// ---- what lies in the same place

Region region_of(const plan::View& view, std::uint64_t buffer, bool is_written) {
  const std::int64_t width = std::max<std::int64_t>(static_cast<std::int64_t>(storage_bits(view.type)) / 8, 1);
  Region region{
      .begin = buffer + static_cast<std::uint64_t>(view.offset * width), .dims = view.dims, .is_written = is_written};
  for (const std::int64_t stride : view.strides) region.strides.push_back(stride * width);
  region.dims.push_back(width);
  region.strides.push_back(1);
  region.first = region.end = region.begin;
  if (view.size() == 0) return region;
  region.end = region.begin + 1;
  for (std::size_t axis = 0; axis < region.dims.size(); ++axis) {
    const auto reach = static_cast<std::uint64_t>((region.dims[axis] - 1) * region.strides[axis]);
    (region.strides[axis] < 0 ? region.first : region.end) += reach;
  }
  return region;
}

namespace {

/// stride * x, x between two bounds.
struct Term {
  std::int64_t stride = 0, least = 0, most = 0;
};

/// Whether a sum of terms, those of the largest strides first, has a given value.
class SumOfTerms {
 public:
  explicit SumOfTerms(std::vector<Term> terms) : terms_(std::move(terms)), rest_(terms_.size() + 1) {
    for (std::size_t i = terms_.size(); i-- > 0;) {
      const Term& term = terms_[i];
      const Rest& behind = rest_[i + 1];
      rest_[i] = {.least = behind.least + term.stride * term.least,
                  .most = behind.most + term.stride * term.most,
                  .divisor = std::gcd(behind.divisor, term.stride)};
    }
  }

  bool may_be(std::int64_t value) { return reaches(value, 0); }

 private:
  /// Of the terms behind one.
  struct Rest {
    std::int64_t least = 0, most = 0, divisor = 0;
  };
  static constexpr int most_tries = 4096;

  bool reaches(std::int64_t value, std::size_t at) {
    if (++tries_ > most_tries) return true;
    const Rest& rest = rest_[at];
    if (value < rest.least || value > rest.most) return false;
    if (at == terms_.size()) return true;
    if (value % rest.divisor != 0) return false;
    const Term& term = terms_[at];
    const Rest& behind = rest_[at + 1];
    const std::int64_t least = std::max(term.least, ceiling(value - behind.most, term.stride));
    const std::int64_t most = std::min(term.most, floor(value - behind.least, term.stride));
    for (std::int64_t x = least; x <= most; ++x)
      if (reaches(value - x * term.stride, at + 1)) return true;
    return false;
  }

  static std::int64_t floor(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  static std::int64_t ceiling(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  int tries_ = 0;
};

}  // namespace

bool overlap(const Region& a, const Region& b) {
  if (a.first >= b.end || b.first >= a.end) return false;
  // An element of each lie in one place where strides * (places in a) - strides * (places in b) is the distance of their begins.
  std::vector<Term> terms;
  const auto add = [&terms](const Region& region, std::int64_t sign) {
    for (std::size_t axis = 0; axis < region.dims.size(); ++axis) {
      const std::int64_t stride = region.strides[axis], last = region.dims[axis] - 1;
      if (stride == 0 || last == 0) continue;
      const bool is_up = (stride > 0) == (sign > 0);
      const Term term{.stride = std::abs(stride), .least = is_up ? 0 : -last, .most = is_up ? last : 0};
      const auto same =
          std::find_if(terms.begin(), terms.end(), [&](const Term& other) { return other.stride == term.stride; });
      if (same == terms.end()) {
        terms.push_back(term);
      } else {
        same->least += term.least;
        same->most += term.most;
      }
    }
  };
  add(a, 1);
  add(b, -1);
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.stride > y.stride; });
  return SumOfTerms(std::move(terms)).may_be(static_cast<std::int64_t>(b.begin - a.begin));
}

// ---- what comes behind what

namespace {

/// Every byte between its first and its last.
bool is_without_gaps(const Region& region) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (std::size_t axis = 0; axis < region.dims.size(); ++axis)
    axes.emplace_back(std::abs(region.strides[axis]), region.dims[axis]);
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 1;
  for (const auto& [stride, size] : axes) {
    if (stride > reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

struct Past {
  std::size_t work = 0;
  Region region;
};

}  // namespace

Dependencies dependencies_of(std::span<const std::vector<Region>> works) {
  Dependencies dependencies(works.size());
  std::vector<Past> past;
  for (std::size_t at = 0; at < works.size(); ++at) {
    std::vector<std::size_t>& before = dependencies[at];
    for (const Region& region : works[at]) {
      for (const Past& other : past) {
        if ((region.is_written || other.region.is_written) && overlap(region, other.region))
          before.push_back(other.work);
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const Region& region : works[at]) {
      if (!region.is_written || region.first == region.end || !is_without_gaps(region)) continue;
      // Who meets those would meet this, too, which comes behind them.
      std::erase_if(past, [&](const Past& other) {
        return region.first <= other.region.first && other.region.end <= region.end;
      });
    }
    for (const Region& region : works[at])
      if (region.first != region.end) past.push_back({at, region});
  }
  return dependencies;
}

// ---- streams

namespace {

class Scheduler {
 public:
  Scheduler(const Dependencies& dependencies, std::size_t streams)
      : dependencies_(dependencies), last_(streams), made_{.order = {}, .waits = {}, .streams = 0} {}

  std::size_t next() const { return made_.order.streams.size(); }

  /// Where the next work goes on what it comes behind, or is alone.
  std::size_t best_stream() const {
    const std::vector<std::size_t>& before = dependencies_[next()];
    for (auto at = before.rbegin(); at != before.rend(); ++at) {
      const std::size_t stream = made_.order.streams[*at];
      if (last_[stream] == *at) return stream;
    }
    const std::vector<std::size_t> ended = ended_before();
    std::optional<std::size_t> oldest;
    for (std::size_t stream = 0; stream < last_.size(); ++stream) {
      if (!last_[stream] || *last_[stream] < ended[stream]) return stream;
      if (!oldest || *last_[stream] < *last_[*oldest]) oldest = stream;
    }
    return *oldest;
  }

  void put(std::size_t stream) {
    const std::size_t work = next();
    const std::vector<std::size_t>& before = dependencies_[work];
    std::vector<std::size_t> ended =
        last_[stream] ? ended_with(*last_[stream]) : std::vector<std::size_t>(last_.size());
    std::vector<std::size_t> waits;
    // Later ones may have waited for earlier ones.
    for (auto at = before.rbegin(); at != before.rend(); ++at) {
      if (*at < ended[made_.order.streams[*at]]) continue;
      waits.push_back(*at);
      raise(ended, ended_with(*at));
    }
    made_.order.streams.push_back(stream);
    made_.order.ended.push_back(std::move(ended));
    made_.waits.push_back(std::move(waits));
    made_.streams = std::max(made_.streams, stream + 1);
    last_[stream] = work;
  }

  Schedule take() { return std::move(made_); }

 private:
  static void raise(std::vector<std::size_t>& ended, const std::vector<std::size_t>& other) {
    for (std::size_t stream = 0; stream < ended.size(); ++stream)
      ended[stream] = std::max(ended[stream], other[stream]);
  }

  /// By stream, when a work has ended.
  std::vector<std::size_t> ended_with(std::size_t work) const {
    std::vector<std::size_t> ended = made_.order.ended[work];
    ended[made_.order.streams[work]] = work + 1;
    return ended;
  }

  /// When all that the next work comes behind has ended.
  std::vector<std::size_t> ended_before() const {
    std::vector<std::size_t> ended(last_.size());
    for (const std::size_t work : dependencies_[next()]) raise(ended, ended_with(work));
    return ended;
  }

  const Dependencies& dependencies_;
  std::vector<std::optional<std::size_t>> last_;  ///< by stream
  Schedule made_;
};

}  // namespace

Schedule schedule(const Dependencies& dependencies, std::size_t most_streams) {
  Scheduler scheduler(dependencies, most_streams);
  for (std::size_t work = 0; work < dependencies.size(); ++work) scheduler.put(scheduler.best_stream());
  return scheduler.take();
}

Schedule schedule(const Dependencies& dependencies, std::span<const std::size_t> streams) {
  Scheduler scheduler(dependencies, streams.empty() ? 1 : *std::max_element(streams.begin(), streams.end()) + 1);
  for (const std::size_t stream : streams) scheduler.put(stream);
  return scheduler.take();
}

Schedule schedule_steps(const plan::Plan& plan, std::size_t most_streams) {
  std::vector<std::uint64_t> places;  // each buffer in one of its own
  std::uint64_t end = 0;
  for (const plan::Buffer& buffer : plan.buffers) {
    places.push_back(end);
    end += aligned_bytes(buffer.bytes);
  }
  std::vector<std::vector<Region>> regions;
  for (const plan::Step& step : plan.steps) {
    std::vector<Region>& of = regions.emplace_back();
    const auto add = [&](const plan::View& view, bool is_written) {
      const plan::Home home = plan.buffers[view.buffer].home;
      if (home != plan::Home::constant && home != plan::Home::slot)
        of.push_back(region_of(view, places[view.buffer], is_written));
    };
    for (const plan::View& view : step.inputs) add(view, false);
    for (const plan::View& view : step.outputs) add(view, true);
  }
  Dependencies dependencies = dependencies_of(regions);
  std::optional<std::size_t> host;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    if (plan.steps[at].kind == plan::host_step) {
      dependencies[at].resize(at);
      std::iota(dependencies[at].begin(), dependencies[at].end(), std::size_t{0});
      host = at;
    } else if (host) {
      std::erase_if(dependencies[at], [&](std::size_t before) { return before <= *host; });
      dependencies[at].insert(dependencies[at].begin(), *host);
    }
  }
  return schedule(dependencies, most_streams);
}

void place_side_by_side(plan::Plan& plan, std::size_t most_streams) {
  const Schedule steps = schedule_steps(plan, most_streams);
  if (steps.streams < 2) return;
  plan::place_buffers(plan, steps.order);
}

}  // namespace onnxkit::cuda
