// Quantized tensors, as the integers and the arithmetic that they stand for.
#include <algorithm>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/padding.h"

namespace onnxkit::aten {
namespace {

/// Least and greatest integer of a type that PyTorch computes with; nullopt for others.
std::optional<std::pair<double, double>> range_of(ElementType elem) {
  if (elem == ElementType::int8) return {{-128, 127}};
  if (elem == ElementType::uint8) return {{0, 255}};
  if (elem == ElementType::int16) return {{-32768, 32767}};
  if (elem == ElementType::int32) return {{-2147483648.0, 2147483647.0}};
  return std::nullopt;
}

/// A scale or zero point of one axis beside a tensor of `rank` axes; of blocks, repeated along the axis.
ValueId beside(WriteCall& call, ValueId x, std::size_t rank, Int axis, Int block, Dim size) {
  const Type type = call.type_of(x);
  if (!type.shape || type.shape->empty() || (type.shape->size() == 1 && (*type.shape)[0] == Dim(1))) {
    return type.shape && !type.shape->empty() ? reshape(call, x, {}) : x;
  }
  const bool is_blocked = type.shape->size() > 1;
  if (axis < 0 || static_cast<std::size_t>(axis) >= (is_blocked ? type.shape->size() : rank)) {
    call.refuse("its axis does not fit its input");
    return x;
  }
  if (!is_blocked) {
    Shape shape(rank, Dim(1));
    shape[static_cast<std::size_t>(axis)] = (*type.shape)[0];
    return reshape(call, x, shape);
  }
  if (block <= 1) return x;
  Type wide = type;
  (*wide.shape)[static_cast<std::size_t>(axis)] = Dim();
  const ValueId repeated =
      call.emit("aten.repeat_interleave.self_int", {{"self", x}, {"repeats", block}, {"dim", axis}}, wide);
  if (!size.is_constant()) return repeated;
  return slice(call, repeated, axis, 0, size.constant(), size);
}

Int block_of(WriteCall& call) { return call.integer("block_size", 0); }

Dim size_of_axis(WriteCall& call, Int axis) {
  const Shape* shape = call.shape(0);
  return shape && static_cast<std::size_t>(axis) < shape->size() ? (*shape)[static_cast<std::size_t>(axis)] : Dim();
}

void map_quantize_linear(WriteCall& call) {
  const ElementType to = call.output_type().elem, elem = call.elem(1);
  const auto range = range_of(to);
  if (!range) return call.refuse("PyTorch does not quantize to this type", "use int8 or uint8");
  if (call.integer("precision", 0) != 0) return call.refuse("the precision of its division is given");
  const std::size_t rank = call.rank(0);
  const Int axis = rank == 0 ? 0 : call.axis("axis", 1, rank);
  const Dim size = size_of_axis(call, axis);
  const ValueId x = cast(call, call.input(0), elem);
  const Type real = with_elem(call.output_type(), elem);
  const ValueId scale = beside(call, call.input(1), rank, axis, block_of(call), size);
  ValueId q = unary(call, "aten.round.default", binary(call, "aten.div.Tensor", x, scale, real));
  if (call.has(2)) {
    const ValueId zero = cast(call, beside(call, call.input(2), rank, axis, block_of(call), size), elem);
    q = binary(call, "aten.add.Tensor", q, zero, real);
  }
  call.result(cast(call, clamp(call, q, range->first, range->second), to));
}

void map_dequantize_linear(WriteCall& call) {
  const ElementType from = call.elem(0), elem = call.elem(1);
  if (!range_of(from))
    return call.refuse("PyTorch has no arithmetic of the integers that it holds", "use int8 or uint8");
  const std::size_t rank = call.rank(0);
  const Int axis = rank == 0 ? 0 : call.axis("axis", 1, rank);
  const Dim size = size_of_axis(call, axis);
  const ElementType wide = from == ElementType::int32 ? ElementType::int64 : ElementType::int32;
  ValueId x = call.input(0);
  if (call.has(2)) {
    const ValueId zero = beside(call, call.input(2), rank, axis, block_of(call), size);
    const ValueId wide_x = cast(call, x, wide);
    x = binary(call, "aten.sub.Tensor", wide_x, cast(call, zero, wide), with_elem(call.output_type(), wide));
  }
  const ValueId scale = beside(call, call.input(1), rank, axis, block_of(call), size);
  call.result(binary(call, "aten.mul.Tensor", cast(call, x, elem), scale, call.output_type()));
}

void map_dynamic_quantize_linear(WriteCall& call) {
  const ValueId x = call.input(0);
  const Type one = Type::tensor(ElementType::float32, {});
  const auto extreme_with_zero = [&](std::string_view all, std::string_view with) {
    const ValueId extreme = call.emit(all, {{"self", x}}, one);
    return call.emit(with, {{"self", extreme}, {"other", call.scalar(ElementType::float32, 0)}}, one);
  };
  const ValueId low = extreme_with_zero("aten.min.default", "aten.minimum.default");
  const ValueId high = extreme_with_zero("aten.max.default", "aten.maximum.default");
  const ValueId span = binary(call, "aten.sub.Tensor", high, low, one);
  const ValueId scale =
      call.emit("aten.div.Tensor", {{"self", span}, {"other", call.scalar(ElementType::float32, 255)}}, one);
  const ValueId shift = unary(call, "aten.neg.default", binary(call, "aten.div.Tensor", low, scale, one));
  const ValueId zero = unary(call, "aten.round.default", clamp(call, shift, 0, 255));
  const Type real = call.type(0);
  const ValueId steps = unary(call, "aten.round.default", binary(call, "aten.div.Tensor", x, scale, real));
  const ValueId q = clamp(call, binary(call, "aten.add.Tensor", steps, zero, real), 0, 255);
  call.results({cast(call, q, ElementType::uint8), scale, cast(call, zero, ElementType::uint8)});
}

/// In float64, whose products and sums of 8-bit integers are exact.
ValueId exact(WriteCall& call, std::size_t input, std::size_t zero_point, Int axis) {
  constexpr ElementType wide = ElementType::float64;
  const ValueId x = cast(call, call.input(input), wide);
  if (!call.has(zero_point)) return x;
  const std::size_t rank = call.rank(input);
  const ValueId zero = beside(call, call.input(zero_point), rank, axis, 0, {});
  return binary(call, "aten.sub.Tensor", x, cast(call, zero, wide), with_elem(call.type(input), wide));
}

void map_matmul_integer(WriteCall& call) {
  const Type type = with_elem(call.output_type(), ElementType::float64);
  const auto rows = static_cast<Int>(call.rank(0)) - 2;
  const auto columns = static_cast<Int>(call.rank(1)) - 1;
  const ValueId a = exact(call, 0, 2, std::max<Int>(rows, 0)), b = exact(call, 1, 3, columns);
  call.result(cast(call, binary(call, "aten.matmul.default", a, b, type), ElementType::int32));
}

/// Rounds to the steps of the result.
ValueId requantized(WriteCall& call, ValueId sums, ValueId factor, std::size_t scale, std::size_t zero_point) {
  const ElementType to = call.output_type().elem;
  const auto range = range_of(to).value_or(std::pair(0.0, 255.0));
  const Type real = with_elem(call.output_type(), ElementType::float32);
  ValueId y = binary(call, "aten.mul.Tensor", cast(call, sums, ElementType::float32), factor, real);
  y = binary(call, "aten.div.Tensor", y, cast(call, call.input(scale), ElementType::float32), real);
  y = unary(call, "aten.round.default", y);
  y = binary(call, "aten.add.Tensor", y, cast(call, call.input(zero_point), ElementType::float32), real);
  return cast(call, clamp(call, y, range.first, range.second), to);
}

void map_qlinear_matmul(WriteCall& call) {
  if (call.shape(1) && call.shape(1)->size() > 1) return call.refuse("it has a scale for each row of several matrices");
  const Type type = with_elem(call.output_type(), ElementType::float64);
  const ValueId a = exact(call, 0, 2, static_cast<Int>(call.rank(0)) - 2),
                b = exact(call, 3, 5, static_cast<Int>(call.rank(3)) - 1);
  const ValueId sums = binary(call, "aten.matmul.default", a, b, type);
  const ValueId left = beside(call, cast(call, call.input(1), ElementType::float32), call.rank(0),
                              static_cast<Int>(call.rank(0)) - 2, 0, {});
  const ValueId right = beside(call, cast(call, call.input(4), ElementType::float32), call.rank(3),
                               static_cast<Int>(call.rank(3)) - 1, 0, {});
  const ValueId factor = binary(call, "aten.mul.Tensor", left, right, Type::tensor(ElementType::float32));
  call.result(requantized(call, sums, factor, 6, 7));
}

/// Sums of products, exact in float64.
ValueId exact_convolution(WriteCall& call, ValueId x, ValueId weight, ValueId bias, std::size_t weight_input) {
  const std::size_t rank = call.rank(0);
  if (rank < 3) call.refuse("its input has no spatial axis");
  if (call.refused()) return x;
  const Window window = window_of(call, rank - 2, weight_input);
  if (call.refused()) return x;
  const auto [wide, padding] = padded(call, x, window, 0);
  return call.emit("aten.convolution.default",
                   {{"input", wide},
                    {"weight", weight},
                    {"bias", bias},
                    {"stride", window.strides},
                    {"padding", padding},
                    {"dilation", window.dilations},
                    {"transposed", false},
                    {"output_padding", Ints(rank - 2, 0)},
                    {"groups", call.integer("group", 1)}},
                   with_elem(call.output_type(), ElementType::float64));
}

void map_conv_integer(WriteCall& call) {
  const ValueId x = exact(call, 0, 2, 1), weight = exact(call, 1, 3, 0);
  call.result(cast(call, exact_convolution(call, x, weight, ValueId::none, 1), ElementType::int32));
}

void map_qlinear_conv(WriteCall& call) {
  const ValueId x = exact(call, 0, 2, 1), weight = exact(call, 3, 5, 0);
  const ValueId bias = call.has(8) ? cast(call, call.input(8), ElementType::float64) : ValueId::none;
  const ValueId sums = exact_convolution(call, x, weight, bias, 3);
  if (call.refused()) return;
  const ValueId x_scale = beside(call, call.input(1), call.rank(0), 1, 0, {});
  const ValueId weight_scale = beside(call, call.input(4), call.rank(0), 1, 0, {});
  const ValueId factor = binary(call, "aten.mul.Tensor", x_scale, weight_scale, Type::tensor(ElementType::float32));
  call.result(requantized(call, sums, factor, 6, 7));
}

}  // namespace

void register_quantize(Writers& writers);
void register_quantize(Writers& writers) {
  writers.add("QuantizeLinear", map_quantize_linear);
  writers.add("DequantizeLinear", map_dequantize_linear);
  writers.add("DynamicQuantizeLinear", map_dynamic_quantize_linear);
  writers.add("MatMulInteger", map_matmul_integer);
  writers.add("QLinearMatMul", map_qlinear_matmul);
  writers.add("ConvInteger", map_conv_integer);
  writers.add("QLinearConv", map_qlinear_conv);
}

}  // namespace onnxkit::aten
