#pragma once

#include <string>

#include "libonnxkit/cuda/text/loops.h"

namespace onnxkit::cuda {

/// Some axes of one or two views, joined, with their coordinates in texts.
class Axes {
 public:
  /// `first` to `last` of the axes of both views, in the order of the strides of the first one.
  Axes(std::string_view prefix, const plan::View& view, const plan::View* other, std::size_t first, std::size_t last);

  std::int64_t count() const { return plan::element_count(loops_.sizes); }
  /// The stride of the innermost axis in the first view; that of nothing is 0.
  std::int64_t inner_stride() const { return loops_.sizes.empty() ? 0 : loops_.strides[0].back(); }
  /// Statements that make coordinates of a linear index, which must be a variable of the type Count.
  std::string coordinates(std::string_view index, std::string_view indent) const;
  std::string place(std::size_t view) const { return place_text(names_, loops_.strides[view]); }

 private:
  plan::Loops loops_;
  std::vector<std::string> names_;  ///< empty where no view moves
  std::string rest_;
};

/// The least power of two that is not smaller, up to `most`.
inline std::int64_t power_of_two_from(std::int64_t count, std::int64_t most) {
  std::int64_t power = 1;
  while (power < count && power < most) power *= 2;
  return power;
}

}  // namespace onnxkit::cuda
