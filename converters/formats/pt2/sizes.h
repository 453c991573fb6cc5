#pragma once

#include "converters/foreign/call.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::pt2 {

/// The product, or the sum, of two sizes: a constant where both are known.
inline foreign::Val combined_size(foreign::OnnxBuilder& onnx, std::string_view op, foreign::Val a, foreign::Val b) {
  const auto known_a = onnx.constant_integers(a), known_b = onnx.constant_integers(b);
  if (known_a && known_b && known_a->size() == 1 && known_b->size() == 1) {
    const auto result =
        op == "Mul" ? checked_mul(known_a->front(), known_b->front()) : checked_add(known_a->front(), known_b->front());
    if (result) return onnx.integers({*result});
  }
  return onnx.emit(op, {a, b});
}
inline foreign::Val product_of_sizes(foreign::OnnxBuilder& onnx, foreign::Val a, foreign::Val b) {
  return combined_size(onnx, "Mul", a, b);
}
inline foreign::Val sum_of_sizes(foreign::OnnxBuilder& onnx, foreign::Val a, foreign::Val b) {
  return combined_size(onnx, "Add", a, b);
}

/// A number in a tensor as large as another.
inline foreign::Val number_like(foreign::OnnxBuilder& onnx, foreign::Val number, foreign::Val x) {
  return onnx.emit("Expand", {number, onnx.emit("Shape", {x})});
}

}  // namespace onnxkit::pt2
