#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace onnxkit::benching {

/// Whether times have stopped changing: the last four do not fall any more, and differ by at most 10 % from the fastest of them.
class Stationary {
 public:
  void add(double time) { times_[count_++ % times_.size()] = time; }
  bool reached() const {
    if (count_ < times_.size()) return false;
    const auto [fastest, slowest] = std::minmax_element(times_.begin(), times_.end());
    const double first = times_[count_ % times_.size()], last = times_[(count_ - 1) % times_.size()];
    return *slowest <= 1.1 * *fastest && last >= 0.97 * first;
  }

 private:
  std::array<double, 4> times_ = {};
  std::size_t count_ = 0;
};

}  // namespace onnxkit::benching
