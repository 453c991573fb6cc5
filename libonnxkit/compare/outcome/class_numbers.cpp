#include "libonnxkit/compare/outcome/class_numbers.h"

#include <array>

#include "libonnxkit/compare/outcome/rank_order.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {

Result<ClassNumbers> ClassNumbers::of(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  const bool numbers = is_integer(tensor.type()) || tensor.type() == ElementType::boolean;
  const bool scores = dims.size() == 4 && dims[1] >= 2 && dims[1] <= most_classes;
  if (!are_numbers(tensor.type()) || !(scores || (dims.size() == 3 && numbers)))
    return outcome_shape(
        "a segmentation",
        "[batch, classes, height, width] with 2 to 65536 classes, or [batch, height, width] of integers", tensor);
  ClassNumbers result(tensor);
  result.batch_ = dims[0];
  result.height_ = dims[dims.size() - 2];
  result.width_ = dims.back();
  result.classes_ = scores ? static_cast<std::size_t>(dims[1]) : 0;
  if (tensor.size() == 0) result.batch_ = result.height_ = result.width_ = 0;  // their product may overflow
  return result;
}

bool ClassNumbers::read(std::size_t picture, std::size_t first, std::span<std::uint16_t> out) const {
  std::array<double, Elements::most> best, scores;
  const auto of_best = std::span(best.data(), out.size()), of_scores = std::span(scores.data(), out.size());
  if (classes_ == 0) {
    elements_.read(picture * pixels() + first, of_best);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!(best[i] >= 0 && best[i] < static_cast<double>(most_classes))) return false;
      out[i] = static_cast<std::uint16_t>(best[i]);
    }
    return true;
  }
  const std::size_t start = picture * classes_ * pixels() + first;
  elements_.read(start, of_best);
  std::fill(out.begin(), out.end(), std::uint16_t{0});
  for (std::size_t k = 1; k < classes_; ++k) {
    elements_.read(start + k * pixels(), of_scores);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!ranks_above(scores[i], best[i])) continue;
      best[i] = scores[i];
      out[i] = static_cast<std::uint16_t>(k);
    }
  }
  return true;
}

}  // namespace onnxkit::comparison
