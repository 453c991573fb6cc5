#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "reference/kernels/gemm.h"

namespace onnxkit::reference {

/// Second factors that products of several runs have in common, as those of a node by its weights in runs that advance together: what the first
/// product makes of one serves all. Thread-safe but for `begin`.
class SharedFactors {
 public:
  using Sums = std::shared_ptr<const std::vector<double>>;

  /// Until the next call these numbers stay as they are and where they are; what was made of others goes.
  void begin(std::vector<std::span<const double>> fixed);

  /// The factor as gemm reads it; null where it may change, is small, or would take too much memory.
  const PackedFactor* packed(ThreadPool& threads, const MatrixView<const double>& b);
  /// The sums that `make` makes of it.
  Sums sums(const MatrixView<const double>& b, const std::function<std::vector<double>()>& make);
  /// Lives as long as somebody keeps it; as long as it is the same, a factor at one place is. Null where the factor may change.
  std::shared_ptr<const void> token(const MatrixView<const double>& b) const;

 private:
  struct Entry {
    MatrixView<const double> b;
    std::unique_ptr<PackedFactor> packed;
    Sums sums;
  };

  bool is_fixed(const MatrixView<const double>& b) const;
  Entry& entry(const MatrixView<const double>& b);

  std::vector<std::span<const double>> fixed_;
  std::shared_ptr<const void> token_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::unique_ptr<PackedFactor> idle_;  ///< the largest of those before
  std::int64_t packed_numbers_ = 0;
};

}  // namespace onnxkit::reference
