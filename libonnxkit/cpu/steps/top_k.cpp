#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "libonnxkit/cpu/by_width.h"
#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

std::uint64_t ordered(std::int64_t x) { return static_cast<std::uint64_t>(x) ^ (std::uint64_t{1} << 63); }

/// Unsigned numbers that compare as the reals do: zeros are equal, NaN are equal and above all else.
template <class T>
auto ordered(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  if (x != x) return ~Bits{0};
  const auto bits = std::bit_cast<Bits>(x == 0 ? T{0} : x);
  return (bits & sign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
}

template <class T>
struct Entry {
  using Key = decltype(ordered(T{}));
  Key key;  ///< less is better
  std::int64_t place;

  bool operator<(const Entry& other) const { return key != other.key ? key < other.key : place < other.place; }
};

/// Sorts entries whose places ascend, a byte of the keys at a time. `room` has as many.
template <class T>
void sort_by_bytes(std::vector<Entry<T>>& entries, std::vector<Entry<T>>& room) {
  room.resize(entries.size());
  for (std::size_t shift = 0; shift < 8 * sizeof(entries[0].key); shift += 8) {
    const auto byte_of = [shift](const Entry<T>& entry) { return entry.key >> shift & 255; };
    std::array<std::size_t, 256> next{};
    for (const auto& entry : entries) ++next[byte_of(entry)];
    ThreadPool::ask_watch();
    if (next[byte_of(entries[0])] == entries.size()) continue;
    std::size_t before = 0;
    for (std::size_t& count : next) before += std::exchange(count, before);
    for (const auto& entry : entries) room[next[byte_of(entry)]++] = entry;
    entries.swap(room);
  }
}

/// The best numbers of rows, one row after the other.
template <class T>
class Selection {
 public:
  Selection(ThreadPool& threads, std::int64_t n, std::int64_t k, bool is_largest)
      : threads_(threads), n_(n), k_(k), is_largest_(is_largest) {}

  void select(const T* numbers, T* to, std::int64_t* places) {
    if (n_ < fewest_to_bound && k_ <= few) {
      insert_all(numbers);
    } else {
      find_candidates(numbers);
      entries_.clear();
      for (const std::int64_t place : std::span(candidates_).first(static_cast<std::size_t>(count_)))
        entries_.push_back(entry_of(numbers, place));
      sort_first();
    }
    for (std::int64_t i = 0; i < k_; ++i) {
      places[i] = entries_[static_cast<std::size_t>(i)].place;
      to[i] = numbers[places[i]];
    }
  }

 private:
  /// Rows of fewer numbers are looked at one by one.
  static constexpr std::int64_t fewest_to_bound = 64, few = 8;
  /// Groups of numbers, for each that is asked for, and numbers of a group, at least.
  static constexpr std::int64_t groups_of_each = 4, least_group = 4;

  Entry<T> entry_of(const T* numbers, std::int64_t place) const {
    const auto key = ordered(numbers[place]);
    return {is_largest_ ? static_cast<decltype(key)>(~key) : key, place};
  }

  /// The first k entries in order, of a row that is short.
  void insert_all(const T* numbers) {
    entries_.resize(static_cast<std::size_t>(k_));
    for (std::int64_t place = 0; place < n_; ++place) {
      const Entry<T> entry = entry_of(numbers, place);
      std::int64_t at = std::min(place, k_);
      if (at == k_ && !(entry < entries_[static_cast<std::size_t>(--at)])) continue;
      for (; at > 0 && entry < entries_[static_cast<std::size_t>(at - 1)]; --at)
        entries_[static_cast<std::size_t>(at)] = entries_[static_cast<std::size_t>(at - 1)];
      entries_[static_cast<std::size_t>(at)] = entry;
    }
  }

  /// All numbers that are among the best, and few others: none worse than the k-th of the best of each group. Groups are columns of a matrix.
  void find_candidates(const T* numbers) {
    candidates_.resize(static_cast<std::size_t>(n_));
    const std::int64_t wanted = std::min(groups_of_each * k_, std::max(n_ / least_group, 2 * k_));
    const std::int64_t groups = (std::max(wanted, fewest_to_bound / least_group) + 15) / 16 * 16;
    if (n_ < fewest_to_bound || groups > n_ / 2) {
      count_ = n_;
      for (std::int64_t i = 0; i < n_; ++i) candidates_[static_cast<std::size_t>(i)] = i;
      return;
    }
    best_.resize(static_cast<std::size_t>(groups));
    reduce_columns(threads_, is_largest_ ? Reduction::max : Reduction::min, numbers, groups, n_ / groups, groups,
                   best_.data());
    const auto middle = best_.begin() + (k_ - 1);
    std::nth_element(best_.begin(), middle, best_.end(), [this](T x, T y) { return is_better(x, y); });
    count_ = keep(numbers, *middle);
  }

  bool is_better(T x, T y) const { return is_largest_ ? ordered(y) < ordered(x) : ordered(x) < ordered(y); }

  std::int64_t keep(const T* numbers, T bound) {
    if constexpr (std::is_same_v<T, float>) return places_of_best(is_largest_, numbers, n_, bound, candidates_.data());
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      candidates_[static_cast<std::size_t>(found)] = i;
      found += is_better(bound, numbers[i]) ? 0 : 1;
    }
    return found;
  }

  /// The first k entries, which are those of all in order.
  void sort_first() {
    constexpr std::size_t many = 256;
    const auto wanted = static_cast<std::size_t>(k_);
    if (entries_.size() >= many && entries_.size() <= 4 * wanted) return sort_by_bytes(entries_, room_);
    const auto end = entries_.begin() + k_;
    if (entries_.size() > 2 * wanted) std::nth_element(entries_.begin(), end - 1, entries_.end());
    if (entries_.size() > 2 * wanted)
      std::sort(entries_.begin(), end);
    else
      std::sort(entries_.begin(), entries_.end());
  }

  ThreadPool& threads_;
  std::int64_t n_, k_;
  bool is_largest_;
  std::vector<T> best_;
  std::vector<std::int64_t> candidates_;
  std::int64_t count_ = 0;
  std::vector<Entry<T>> entries_, room_;
};

class TopKKernel : public Kernel {
 public:
  TopKKernel(const plan::Step& step, bool is_largest, int threads)
      : from_(step.inputs[0]),
        to_(step.outputs[0]),
        places_(step.outputs[1]),
        is_largest_(is_largest),
        threads_(threads) {}

  void run(RunState& state) override {
    by_number(from_.type, [&]<class T>(T) { select<T>(state); });
  }

  /// Places of all numbers of a row, and entries: of few that are asked for some times as many, else of all.
  std::uint64_t scratch_bytes() const override {
    const std::int64_t n = from_.dims.back(), rows = std::min<std::int64_t>(from_.size() / n, threads_);
    const std::int64_t entries = 2 * std::min(n, 8 * std::min(to_.dims.back(), n));
    std::uint64_t of_entry = 0;
    by_number(from_.type, [&]<class T>(T) { of_entry = sizeof(Entry<T>); });
    return static_cast<std::uint64_t>(rows) *
           (sizeof(std::int64_t) * static_cast<std::uint64_t>(n) + of_entry * static_cast<std::uint64_t>(entries));
  }

 private:
  template <class T>
  void select(RunState& state) const {
    const std::int64_t n = from_.dims.back(), k = to_.dims.back(), rows = from_.size() / n;
    const T* const from = state.at<T>(from_);
    T* const to = state.at<T>(to_);
    auto* const places = state.at<std::int64_t>(places_);
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / n);
    state.threads->for_range(rows, grain, [&](std::int64_t first, std::int64_t last) {
      Selection<T> selection(*state.threads, n, k, is_largest_);
      for (std::int64_t row = first; row < last; ++row)
        selection.select(from + row * n, to + row * k, places + row * k);
    });
  }

  View from_, to_, places_;
  bool is_largest_;
  int threads_;
};

Result<std::unique_ptr<Kernel>> make_top_k(const plan::Step& step, Preparation& preparation) {
  const auto& parameters = static_cast<const plan::TopKParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(
      std::make_unique<TopKKernel>(step, parameters.is_largest, preparation.threads.threads()));
}

}  // namespace

void register_top_k(KernelRegistry& registry);
void register_top_k(KernelRegistry& registry) { registry.add(plan::top_k_step, make_top_k); }

}  // namespace onnxkit::cpu
