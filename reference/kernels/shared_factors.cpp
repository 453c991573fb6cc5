#include "reference/kernels/shared_factors.h"

#include <algorithm>

namespace onnxkit::reference {
namespace {

/// Smaller ones are not worth a look at what is kept; more is not kept, as it would double what weights take.
constexpr std::int64_t least_numbers = std::int64_t{1} << 14, most_numbers = std::int64_t{1} << 25;

}  // namespace

void SharedFactors::begin(std::vector<std::span<const double>> fixed) {
  for (Entry& of : entries_) {
    if (of.packed && (!idle_ || of.packed->capacity > idle_->capacity)) idle_ = std::move(of.packed);
  }
  entries_.clear();
  packed_numbers_ = 0;
  fixed_ = std::move(fixed);
  token_ = fixed_.empty() ? nullptr : std::make_shared<int>();
}

bool SharedFactors::is_fixed(const MatrixView<const double>& b) const {
  if (b.rows == 0 || b.columns == 0 || b.rows * b.columns < least_numbers) return false;
  const double* const last = b.data + (b.rows - 1) * b.row_stride + (b.columns - 1) * b.column_stride;
  return std::ranges::any_of(fixed_, [&](std::span<const double> numbers) {
    return b.data >= numbers.data() && last < numbers.data() + numbers.size();
  });
}

SharedFactors::Entry& SharedFactors::entry(const MatrixView<const double>& b) {
  const auto known = std::ranges::find(entries_, b, &Entry::b);
  return known != entries_.end() ? *known : entries_.emplace_back(Entry{.b = b, .packed = nullptr, .sums = nullptr});
}

const PackedFactor* SharedFactors::packed(ThreadPool& threads, const MatrixView<const double>& b) {
  constexpr std::int64_t fewest_columns = 32;  // narrower ones grow when they are packed
  if (!is_fixed(b) || b.columns < fewest_columns) return nullptr;
  const std::lock_guard lock(mutex_);
  Entry& of = entry(b);
  if (of.packed || packed_numbers_ + b.rows * b.columns > most_numbers) return of.packed.get();
  packed_numbers_ += b.rows * b.columns;
  const std::unique_ptr<PackedFactor> used = std::move(idle_);
  of.packed = std::make_unique<PackedFactor>(pack_factor(threads, b, used ? std::move(*used) : PackedFactor()));
  return of.packed.get();
}

SharedFactors::Sums SharedFactors::sums(const MatrixView<const double>& b,
                                        const std::function<std::vector<double>()>& make) {
  if (!is_fixed(b)) return std::make_shared<const std::vector<double>>(make());
  const std::lock_guard lock(mutex_);
  Entry& of = entry(b);
  if (!of.sums) of.sums = std::make_shared<const std::vector<double>>(make());
  return of.sums;
}

std::shared_ptr<const void> SharedFactors::token(const MatrixView<const double>& b) const {
  return is_fixed(b) ? token_ : nullptr;
}

}  // namespace onnxkit::reference
