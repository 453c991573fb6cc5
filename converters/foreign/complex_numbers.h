#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "converters/foreign/call.h"

// Complex tensors as two real ones (foreign::Complex), and Fourier transforms, which ONNX has for pairs of numbers on a last axis.
namespace onnxkit::foreign {

/// The type of each part of a complex number; real types are their own.
ElementType part_type_of(ElementType elem);
/// complex64 or complex128 for float or double; other types are their own.
ElementType complex_type_of(ElementType part);

/// A last axis of two becomes the parts, and back.
Complex parts_of_pairs(OnnxBuilder& onnx, Val pairs);
Val pairs_of(OnnxBuilder& onnx, const Complex& x);
/// Parts that broadcast get the same shape.
Complex of_parts(OnnxBuilder& onnx, Val real, Val imaginary);
Complex from_polar(OnnxBuilder& onnx, Val length, Val angle);
/// The same with zeros in place of an absent imaginary part.
Complex with_both_parts(OnnxBuilder& onnx, const Complex& x);

Complex conjugate(OnnxBuilder& onnx, const Complex& x);
/// `op` is Add or Sub.
Complex sum_of(OnnxBuilder& onnx, std::string_view op, const Complex& a, const Complex& b);
/// `product` is that of real tensors, such as Mul and MatMul: linear in both.
Complex product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b, const std::function<Val(Val, Val)>& product);
Complex product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b);
Complex matrix_product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b);
Complex quotient_of(OnnxBuilder& onnx, const Complex& a, const Complex& b);
/// Where both parts are the same.
Val equality_of(OnnxBuilder& onnx, const Complex& a, const Complex& b);
Val absolute_value(OnnxBuilder& onnx, const Complex& x);
/// Whether real numbers are below zero, or zero with that sign.
Val is_negative(OnnxBuilder& onnx, Val x);
/// The angle of the point (x, y) in all four quadrants, from -pi to pi.
Val angle_of(OnnxBuilder& onnx, Val y, Val x);

/// What sums over n elements are multiplied by.
enum class FourierScale { one, root, length };

struct FourierAxis {
  std::int64_t axis = 0;
  std::optional<std::int64_t> length = {};  ///< shorter signals get zeros behind them, longer ones lose their end
};

/// The last `count` of `rank` axes, with these lengths if there are any. Refuses others than one for each.
std::vector<FourierAxis> last_axes(Call& call, std::size_t rank, std::size_t count,
                                   const std::vector<std::int64_t>& lengths);
/// The discrete Fourier transform along axes, one after the other. One-sided: of real numbers, the first half of the last axis' result.
/// Refuses lengths that no transform has, as the inverse does.
Complex fourier(Call& call, const Complex& x, const std::vector<FourierAxis>& axes, bool is_inverse, bool is_onesided,
                FourierScale scale);
/// The real signals whose one-sided transforms these are; the last axis has the length 2 (m - 1), where m is its size, unless one is given.
Val real_inverse_fourier(Call& call, const Complex& x, std::vector<FourierAxis> axes, FourierScale scale);

}  // namespace onnxkit::foreign
