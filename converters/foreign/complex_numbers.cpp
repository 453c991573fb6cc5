#include "converters/foreign/complex_numbers.h"

#include <cmath>

namespace onnxkit::foreign {

ElementType part_type_of(ElementType elem) {
  if (elem == ElementType::complex64) return ElementType::float32;
  return elem == ElementType::complex128 ? ElementType::float64 : elem;
}

ElementType complex_type_of(ElementType part) {
  if (part == ElementType::float32) return ElementType::complex64;
  return part == ElementType::float64 ? ElementType::complex128 : part;
}

Complex parts_of_pairs(OnnxBuilder& onnx, Val pairs) {
  const auto part = [&](std::int64_t place) {
    return onnx.emit("Gather", {pairs, onnx.scalar_integer(ElementType::int64, place)}, {{"axis", std::int64_t{-1}}});
  };
  return {part(0), part(1)};
}

Complex of_parts(OnnxBuilder& onnx, Val real, Val imaginary) {
  const auto *a = onnx.shape(real), *b = onnx.shape(imaginary);
  if (a && b && *a == *b) return {real, imaginary};
  const Val shape = onnx.emit("Shape", {onnx.emit("Add", {real, imaginary})});
  return {onnx.emit("Expand", {real, shape}), onnx.emit("Expand", {imaginary, shape})};
}

Complex from_polar(OnnxBuilder& onnx, Val length, Val angle) {
  return {onnx.emit("Mul", {length, onnx.emit("Cos", {angle})}), onnx.emit("Mul", {length, onnx.emit("Sin", {angle})})};
}

Complex with_both_parts(OnnxBuilder& onnx, const Complex& x) {
  if (x.imaginary) return x;
  const Val zero = onnx.scalar(onnx.elem(x.real), 0);
  return {x.real, onnx.emit("Expand", {zero, onnx.emit("Shape", {x.real})})};
}

Val pairs_of(OnnxBuilder& onnx, const Complex& x) {
  const Complex both = with_both_parts(onnx, x);
  const Val last = onnx.integers({-1});
  return onnx.emit("Concat",
                   {onnx.emit("Unsqueeze", {both.real, last}), onnx.emit("Unsqueeze", {both.imaginary, last})},
                   {{"axis", std::int64_t{-1}}});
}

Complex conjugate(OnnxBuilder& onnx, const Complex& x) {
  return {x.real, x.imaginary ? onnx.emit("Neg", {x.imaginary}) : Val{}};
}

Complex sum_of(OnnxBuilder& onnx, std::string_view op, const Complex& a, const Complex& b) {
  const Val real = onnx.emit(op, {a.real, b.real});
  if (a.imaginary && b.imaginary) return {real, onnx.emit(op, {a.imaginary, b.imaginary})};
  if (!a.imaginary && !b.imaginary) return {real, {}};
  const Val only = a.imaginary ? a.imaginary : op == "Sub" ? onnx.emit("Neg", {b.imaginary}) : b.imaginary;
  return {real, onnx.emit("Expand", {only, onnx.emit("Shape", {real})})};
}

Complex product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b, const std::function<Val(Val, Val)>& product) {
  const Val real = product(a.real, b.real);
  if (!a.imaginary && !b.imaginary) return {real, {}};
  if (!b.imaginary) return {real, product(a.imaginary, b.real)};
  if (!a.imaginary) return {real, product(a.real, b.imaginary)};
  return {onnx.emit("Sub", {real, product(a.imaginary, b.imaginary)}),
          onnx.emit("Add", {product(a.real, b.imaginary), product(a.imaginary, b.real)})};
}

Complex product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b) {
  return product_of(onnx, a, b, [&](Val x, Val y) { return onnx.emit("Mul", {x, y}); });
}

Complex matrix_product_of(OnnxBuilder& onnx, const Complex& a, const Complex& b) {
  return product_of(onnx, a, b, [&](Val x, Val y) { return onnx.emit("MatMul", {x, y}); });
}

Val equality_of(OnnxBuilder& onnx, const Complex& a, const Complex& b) {
  const Complex x = with_both_parts(onnx, a), y = with_both_parts(onnx, b);
  const Val real = onnx.emit("Equal", {x.real, y.real}), imaginary = onnx.emit("Equal", {x.imaginary, y.imaginary});
  return onnx.emit("And", {real, imaginary});
}

Complex quotient_of(OnnxBuilder& onnx, const Complex& a, const Complex& b) {
  const auto over = [&](const Complex& x, Val divisor) {
    return Complex{onnx.emit("Div", {x.real, divisor}), x.imaginary ? onnx.emit("Div", {x.imaginary, divisor}) : Val{}};
  };
  if (!b.imaginary) return over(a, b.real);
  // Divided by the greater part first, as the square of a length may be beyond the type.
  const Val greater = onnx.emit("Max", {onnx.emit("Abs", {b.real}), onnx.emit("Abs", {b.imaginary})});
  const Complex unit = over(b, greater);
  const Val square =
      onnx.emit("Add", {onnx.emit("Mul", {unit.real, unit.real}), onnx.emit("Mul", {unit.imaginary, unit.imaginary})});
  return over(over(product_of(onnx, a, conjugate(onnx, unit)), square), greater);
}

Val absolute_value(OnnxBuilder& onnx, const Complex& x) {
  if (!x.imaginary) return onnx.emit("Abs", {x.real});
  const Val squares =
      onnx.emit("Add", {onnx.emit("Mul", {x.real, x.real}), onnx.emit("Mul", {x.imaginary, x.imaginary})});
  return onnx.emit("Sqrt", {squares});
}

Val is_negative(OnnxBuilder& onnx, Val x) {
  const Val zero = onnx.scalar(onnx.elem(x), 0);
  return onnx.emit("Or", {onnx.emit("Less", {x, zero}), onnx.emit("Less", {onnx.emit("Reciprocal", {x}), zero})});
}

Val angle_of(OnnxBuilder& onnx, Val y, Val x) {
  const ElementType type = onnx.elem(x);
  constexpr double pi = 3.14159265358979323846;
  const Val ratio = onnx.emit("Div", {y, x});
  // 0 / 0 is taken for 0, infinity / infinity for 1.
  const Val same = onnx.emit("Equal", {onnx.emit("Abs", {x}), onnx.emit("Abs", {y})});
  const Val is_open = onnx.emit("And", {same, onnx.emit("IsNaN", {ratio})});
  const Val sign = onnx.emit("Mul", {onnx.emit("Sign", {x}), onnx.emit("Sign", {y})});
  const Val slope = onnx.emit("Atan", {onnx.emit("Where", {is_open, sign, ratio})});
  const Val turn = onnx.emit("Where", {is_negative(onnx, y), onnx.scalar(type, -pi), onnx.scalar(type, pi)});
  return onnx.emit("Where", {is_negative(onnx, x), onnx.emit("Add", {slope, turn}), slope});
}

namespace {

Val part_of(OnnxBuilder& onnx, Val x, std::int64_t axis, Val start, Val end, std::int64_t step = 1) {
  return onnx.emit("Slice", {x, start, end, onnx.integers({axis}), onnx.integers({step})});
}

/// Whether all lengths can be those of a transform.
bool are_possible(Call& call, const std::vector<FourierAxis>& axes) {
  constexpr std::int64_t longest = std::int64_t{1} << 28;
  for (const FourierAxis& each : axes)
    if (each.length && (*each.length < 1 || *each.length > longest)) call.refuse("the length is out of range");
  return !call.refused();
}

/// Zeros behind a signal that is too short; of one that is too long the beginning.
Val fitted(OnnxBuilder& onnx, Val x, std::int64_t axis, std::int64_t length) {
  const auto size = onnx.size(x, static_cast<std::size_t>(axis));
  if (size == length) return x;
  if (!size || *size < length) {
    std::vector<std::int64_t> pads(2 * onnx.rank(x).value_or(0), 0);
    pads[pads.size() / 2 + static_cast<std::size_t>(axis)] = size ? length - *size : length;
    x = onnx.emit("Pad", {x, onnx.integers(pads)});
  }
  return size && *size < length ? x : part_of(onnx, x, axis, onnx.integers({0}), onnx.integers({length}));
}

/// One axis of numbers that are pairs, or alone, on the last axis. An inverse is divided by the length.
Val transform(Call& call, Val x, std::int64_t axis, bool is_inverse, bool is_onesided) {
  auto& onnx = call.onnx;
  std::vector<ir::Attr> attributes = {{"inverse", std::int64_t{is_inverse ? 1 : 0}},
                                      {"onesided", std::int64_t{is_onesided ? 1 : 0}}};
  constexpr std::int64_t axis_is_input = 20;
  // In ONNX the first axis counts signals, so that a signal alone needs one before it.
  const bool is_alone = axis == 0 && call.rank(x) == 2;
  if (is_alone) x = onnx.unsqueeze(x, {0});
  const std::int64_t place = is_alone ? axis + 1 : axis;
  std::vector<Val> inputs = {x};
  if (call.opset() >= axis_is_input)
    inputs.insert(inputs.end(), {Val{}, onnx.scalar_integer(ElementType::int64, place)});
  else
    attributes.push_back({"axis", place});
  const Val result = onnx.emit("DFT", inputs, attributes);
  return is_alone ? onnx.squeeze(result, {0}) : result;
}

/// The product of the sizes of axes, as a number of a type.
Val length_of(OnnxBuilder& onnx, Val x, const std::vector<FourierAxis>& axes, ElementType type) {
  double known = 1;
  Val open;
  for (const FourierAxis& each : axes) {
    if (const auto size = onnx.size(x, static_cast<std::size_t>(each.axis))) {
      known *= static_cast<double>(*size);
      continue;
    }
    const Val size = onnx.cast(onnx.squeeze(onnx.size_of(x, each.axis), {0}), type);
    open = open ? onnx.emit("Mul", {open, size}) : size;
  }
  const Val constant = onnx.scalar(type, known);
  return open ? onnx.emit("Mul", {open, constant}) : constant;
}

/// Sums times what `scale` says. DFT itself divides an inverse by the length.
Val scaled(OnnxBuilder& onnx, Val x, Val length, bool is_inverse, FourierScale scale) {
  if (scale == (is_inverse ? FourierScale::length : FourierScale::one)) return x;
  const Val factor = scale == FourierScale::root ? onnx.emit("Sqrt", {length}) : length;
  return onnx.emit(is_inverse ? "Mul" : "Div", {x, factor});
}

}  // namespace

std::vector<FourierAxis> last_axes(Call& call, std::size_t rank, std::size_t count,
                                   const std::vector<std::int64_t>& lengths) {
  if (rank < count) call.refuse("it has fewer axes than the transform");
  if (!lengths.empty() && lengths.size() != count) call.refuse("a length for each axis is wanted");
  std::vector<FourierAxis> axes;
  for (std::size_t i = 0; i < count && !call.refused(); ++i) {
    axes.push_back({static_cast<std::int64_t>(rank - count + i)});
    if (!lengths.empty()) axes.back().length = lengths[i];
  }
  return axes;
}

Complex fourier(Call& call, const Complex& x, const std::vector<FourierAxis>& axes, bool is_inverse, bool is_onesided,
                FourierScale scale) {
  auto& onnx = call.onnx;
  if (!are_possible(call, axes)) return x;
  if (axes.empty()) return with_both_parts(onnx, x);
  Val signal = x.imaginary ? pairs_of(onnx, x) : onnx.emit("Unsqueeze", {x.real, onnx.integers({-1})});
  for (const FourierAxis& each : axes)
    if (each.length) signal = fitted(onnx, signal, each.axis, *each.length);
  const Val length = length_of(onnx, signal, axes, onnx.elem(signal));
  // The last axis first: only it may be cut, as only there the numbers are real.
  for (std::size_t i = axes.size(); i-- > 0;)
    signal = transform(call, signal, axes[i].axis, is_inverse, is_onesided && i + 1 == axes.size());
  return parts_of_pairs(onnx, scaled(onnx, signal, length, is_inverse, scale));
}

Val real_inverse_fourier(Call& call, const Complex& x, std::vector<FourierAxis> axes, FourierScale scale) {
  auto& onnx = call.onnx;
  if (!are_possible(call, axes) || axes.empty()) return x.real;
  const FourierAxis last = axes.back();
  const auto axis = static_cast<std::size_t>(last.axis);
  const auto bins = onnx.size(x.real, axis);
  if (!last.length && !bins) {
    call.refuse("the length of the signal is not known", "give the transform its length");
    return x.real;
  }
  const std::int64_t length = last.length ? *last.length : 2 * (*bins - 1);
  axes.back().length = length;
  Val half = pairs_of(onnx, x);
  half = fitted(onnx, half, last.axis, length / 2 + 1);
  for (const FourierAxis& each : axes)
    if (each.axis != last.axis && each.length) half = fitted(onnx, half, each.axis, *each.length);
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) half = transform(call, half, axes[i].axis, true, false);
  // The other half are the conjugates, in opposite order, of all but the first and, where the length is even, the last.
  const Val others = part_of(onnx, half, last.axis, onnx.integers({(length - 1) / 2}), onnx.integers({0}), -1);
  const ElementType type = onnx.elem(half);
  const Val signs = onnx.reals(type, {2}, std::vector<double>{1, -1});
  const Val whole =
      onnx.emit("Concat", {half, onnx.emit("Mul", {others, signs})}, {{"axis", static_cast<std::int64_t>(axis)}});
  const Val signal = transform(call, whole, last.axis, true, false);
  return parts_of_pairs(onnx, scaled(onnx, signal, length_of(onnx, signal, axes, type), true, scale)).real;
}

}  // namespace onnxkit::foreign
