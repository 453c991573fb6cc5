#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "libonnxkit/cuda/session.h"
#include "libonnxkit/exec/product_device.h"

namespace onnxkit::cuda {

/// Lends a GPU to the reference: each large product of doubles is a plan of one step, kept for the next product of its sizes.
class DoubleProducts : public exec::ProductDevice {
 public:
  /// Products of fewer multiplications than `least_work` are left to the caller, and so are those that move more bytes than they are worth.
  explicit DoubleProducts(std::shared_ptr<Shared> shared, std::int64_t least_work = usual_least_work)
      : shared_(std::move(shared)),
        least_work_(least_work),
        cores_(shared_->load.threads > 0 ? shared_->load.threads : usable_cores()) {}

  Result<bool> multiply(const exec::StridedMatrix<const double>& a, const exec::StridedMatrix<const double>& b,
                        const exec::StridedMatrix<double>& c, bool accumulate,
                        const std::shared_ptr<const void>& token) override;

  static constexpr std::int64_t usual_least_work = std::int64_t{1} << 26;

 private:
  struct Sizes {
    std::int64_t m, k, n;
    bool a_by_columns, b_by_columns;
    bool operator==(const Sizes&) const = default;
  };
  struct Entry {
    Sizes sizes;
    std::unique_ptr<plan::Executable> plan;
    // What b was when it was last sent.
    std::shared_ptr<const void> token = {};
    exec::StridedMatrix<const double> b = {};
  };

  static plan::Plan plan_of(const Sizes& sizes);
  /// `is_shared`: several products have b.
  bool is_worth_it(const Sizes& sizes, bool is_shared) const;
  /// Null: the device has no room for these sizes.
  Result<Entry*> entry_for(const Sizes& sizes);

  std::shared_ptr<Shared> shared_;
  std::int64_t least_work_;
  int cores_;  ///< that would multiply otherwise
  std::mutex mutex_;
  std::list<Entry> entries_;      ///< the last used first
  std::vector<Sizes> too_large_;  ///< sizes for which there was no room with nothing else there
};

}  // namespace onnxkit::cuda
