#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "libonnxkit/compare/metrics/elements.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::comparison {

/// The class of each pixel: of scores [batch, classes, height, width] the highest, of integers [batch, height, width] the numbers themselves.
class ClassNumbers {
 public:
  static constexpr std::int64_t most_classes = 65'536;

  /// Error outcome-shape when the tensor has neither form.
  static Result<ClassNumbers> of(const Tensor& tensor);

  std::int64_t batch() const { return batch_; }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::size_t pixels() const { return static_cast<std::size_t>(height_ * width_); }  ///< of one picture
  /// 0 where the tensor holds class numbers.
  std::size_t classes() const { return classes_; }

  /// At most Elements::most pixels of one picture; false when one of them is no class number.
  bool read(std::size_t picture, std::size_t first, std::span<std::uint16_t> out) const;

 private:
  explicit ClassNumbers(const Tensor& tensor) : elements_(tensor) {}

  Elements elements_;
  std::int64_t batch_ = 0, height_ = 0, width_ = 0;
  std::size_t classes_ = 0;
};

}  // namespace onnxkit::comparison
