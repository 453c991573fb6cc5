#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "libonnxkit/base/dtype/dtype.h"
#include "onnxkit/value.h"

namespace onnxkit::comparison {

/// The elements of a tensor of numbers or booleans, read piece by piece.
class Elements {
 public:
  /// At most this many are read at a time.
  static constexpr std::size_t most = 1024;

  explicit Elements(const Tensor& tensor) : type_(tensor.type()), bytes_(tensor.bytes()) {}

  ElementType type() const { return type_; }
  /// Elements from `first` on. As double they are exact but for 64-bit integers, as long double always.
  void read(std::size_t first, std::span<double> out) const { read_as(first, out); }
  void read(std::size_t first, std::span<long double> out) const { read_as(first, out); }
  /// The packed bytes of elements from `first` on, which must be a multiple of `most`.
  std::span<const std::byte> bytes(std::size_t first, std::size_t count) const;
  /// Asks the memory for the elements from `first` on that will be read next.
  void prefetch(std::size_t first) const;

 private:
  template <class Real>
  void read_as(std::size_t first, std::span<Real> out) const;

  ElementType type_;
  std::span<const std::byte> bytes_;
};

/// All elements of a tensor whose type has the domain of T.
template <class T>
std::unique_ptr<T[]> all_elements(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(tensor.size());
  auto all = std::make_unique<T[]>(size);
  decode(tensor.type(), tensor.bytes(), std::span<T>(all.get(), size));
  return all;
}

/// True for the types that Elements reads.
bool are_numbers(ElementType type);

}  // namespace onnxkit::comparison
