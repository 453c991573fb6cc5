#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "onnxkit/metrics.h"

namespace onnxkit::comparison {

/// The worst of many pairs of elements, at most `limit`: those of which one is not finite first, then by distance, then by index.
class Worst {
 public:
  struct Pair {
    bool mismatch = false;  ///< of NaN or infinity
    long double distance = 0;
    std::uint64_t index = 0;
    double a = 0, b = 0;

    bool before(const Pair& other) const {
      if (mismatch != other.mismatch) return mismatch;
      if (!mismatch && distance != other.distance) return distance > other.distance;
      return index < other.index;
    }
  };

  explicit Worst(std::size_t limit) : limit_(limit) {}
  /// One that only takes what `other` would still take.
  static Worst beyond(const Worst& other) {
    Worst result(other.limit_);
    if (other.full() && other.limit_ > 0) result.least_ = other.heap_.front();
    return result;
  }

  bool admits(const Pair& pair) const {
    if (limit_ == 0 || (least_ && !pair.before(*least_))) return false;
    return !full() || pair.before(heap_.front());
  }
  void offer(const Pair& pair) {
    if (!admits(pair)) return;
    if (full()) {
      std::pop_heap(heap_.begin(), heap_.end(), order);
      heap_.pop_back();
    }
    heap_.push_back(pair);
    std::push_heap(heap_.begin(), heap_.end(), order);
  }
  void merge(const Worst& other) {
    for (const Pair& pair : other.heap_) offer(pair);
  }
  std::vector<WorstElement> sorted() const {
    std::vector<Pair> pairs = heap_;
    std::sort(pairs.begin(), pairs.end(), order);
    std::vector<WorstElement> elements;
    for (const Pair& pair : pairs) elements.push_back({pair.index, pair.a, pair.b});
    return elements;
  }

 private:
  static bool order(const Pair& x, const Pair& y) { return x.before(y); }
  bool full() const { return heap_.size() >= limit_; }

  std::size_t limit_;
  std::vector<Pair> heap_;  ///< the first is the least bad
  std::optional<Pair> least_;
};

}  // namespace onnxkit::comparison
