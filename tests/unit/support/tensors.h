#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "onnxkit/value.h"

// Tensors of given elements: of one dimension where no other dims are given.
namespace onnxkit::tests {

/// Elements whose type stores them as T does.
template <class T>
Tensor stored(ElementType type, std::vector<std::int64_t> dims, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return *Tensor::from_bytes(type, std::move(dims), {bytes.begin(), bytes.end()});
}

inline Tensor floats(std::vector<std::int64_t> dims, const std::vector<float>& values) {
  return stored(ElementType::float32, std::move(dims), values);
}
inline Tensor floats(const std::vector<float>& values) {
  return floats({static_cast<std::int64_t>(values.size())}, values);
}

inline Tensor doubles(std::vector<std::int64_t> dims, const std::vector<double>& values) {
  return stored(ElementType::float64, std::move(dims), values);
}

inline Tensor integers(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& values) {
  return stored(ElementType::int64, std::move(dims), values);
}
inline Tensor integers(const std::vector<std::int64_t>& values) {
  return integers({static_cast<std::int64_t>(values.size())}, values);
}

inline Tensor words(std::vector<std::string> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return *Tensor::from_strings({count}, std::move(values));
}

/// Numbers that are rounded or wrapped to the type.
template <class T>
Tensor encoded(ElementType type, std::vector<std::int64_t> dims, const std::vector<T>& values) {
  std::vector<std::byte> bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value());
  encode(type, std::span<const T>(values), bytes);
  return *Tensor::from_bytes(type, std::move(dims), std::move(bytes));
}
template <class T>
Tensor encoded(ElementType type, const std::vector<T>& values) {
  return encoded(type, {static_cast<std::int64_t>(values.size())}, values);
}

inline Tensor reals(const std::vector<double>& values, ElementType type = ElementType::float64) {
  return encoded(type, values);
}

/// Type, shape and elements bit for bit.
inline bool same_content(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.dims() == b.dims() && std::ranges::equal(a.bytes(), b.bytes()) &&
         std::ranges::equal(a.strings(), b.strings());
}

}  // namespace onnxkit::tests
