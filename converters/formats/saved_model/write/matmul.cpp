// Products of matrices.
#include <algorithm>
#include <string>

#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

bool has_products(ElementType elem) {
  return elem == ElementType::float16 || elem == ElementType::bfloat16 || elem == ElementType::float32 ||
         elem == ElementType::float64 || elem == ElementType::int32 || elem == ElementType::int64;
}

/// Factors of integers that no kernel multiplies become wider ones.
ValueId factor(WriteCall& call, ValueId x) {
  const ElementType elem = call.type_of(x).elem;
  if (has_products(elem)) return x;
  return cast(call, x,
              elem == ElementType::uint32 || elem == ElementType::uint64 ? ElementType::int64 : ElementType::int32);
}

/// A vector as a matrix with one row, or one column.
ValueId as_matrix(WriteCall& call, ValueId x, bool is_row) {
  const Type& type = call.type_of(x);
  if (!type.shape || type.shape->size() != 1) return x;
  return expand_dims(call, x, is_row ? 0 : 1);
}

ValueId product_of(WriteCall& call, ValueId a, ValueId b, std::size_t left, std::size_t right, Type type) {
  if (left <= 2 && right <= 2) return call.emit("MatMul", {{"a", a}, {"b", b}}, std::move(type));
  return call.emit("BatchMatMulV2", {{"x", a}, {"y", b}}, std::move(type));
}

ValueId multiplied(WriteCall& call, ValueId a, ValueId b) {
  const std::size_t left = rank_of(call, a), right = rank_of(call, b);
  Type type = with_elem(call.output_type(), call.type_of(a).elem);
  if (left >= 2 && right >= 2) return product_of(call, a, b, left, right, std::move(type));
  const ValueId rows = as_matrix(call, a, true), columns = as_matrix(call, b, false);
  const ValueId product = product_of(call, rows, columns, left, right, Type::tensor(type.elem));
  Ints axes;
  if (left == 1) axes.push_back(right == 1 ? 0 : -2);
  if (right == 1) axes.push_back(right == 1 && left == 1 ? 1 : -1);
  return squeeze(call, product, axes, std::move(type));
}

void map_matmul(WriteCall& call) {
  if (call.rank(0) == 0 || call.rank(1) == 0) return call.refuse("it multiplies scalars");
  const ValueId a = factor(call, call.input(0)), b = factor(call, call.input(1)), product = multiplied(call, a, b);
  call.result(cast(call, product, call.output_type().elem));
}

void map_gemm(WriteCall& call) {
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const bool transposes_a = call.integer("transA", 0) != 0, transposes_b = call.integer("transB", 0) != 0;
  const ElementType elem = call.elem(0);
  const ValueId a = factor(call, call.input(0)), b = factor(call, call.input(1));
  ValueId product =
      call.emit("MatMul", {{"a", a}, {"b", b}, {"transpose_a", transposes_a}, {"transpose_b", transposes_b}},
                with_elem(call.output_type(), call.type_of(a).elem));
  if (alpha != 1) product = binary(call, "Mul", product, alpha);
  if (!call.has(2) || beta == 0) return call.result(cast(call, product, elem));
  ValueId addend = cast(call, call.input(2), call.type_of(product).elem);
  if (beta != 1) addend = binary(call, "Mul", addend, beta);
  const auto width = call.output_type().shape ? call.output_type().shape->back() : Dim();
  const bool is_bias =
      call.shape(2) && call.shape(2)->size() == 1 && (*call.shape(2))[0] == width && !width.is_unknown();
  const ValueId sum = is_bias
                          ? call.emit("BiasAdd", {{"value", product}, {"bias", addend}}, Type(call.type_of(product)))
                          : binary(call, "AddV2", product, addend);
  call.result(cast(call, sum, elem));
}

/// With the result stated: letters that come once, sorted, behind those of an ellipsis.
std::string with_arrow(std::string equation) {
  std::erase(equation, ' ');
  if (equation.find("->") != equation.npos) return equation;
  std::string letters = equation, output;
  std::erase_if(letters, [](char c) { return c == ',' || c == '.'; });
  std::sort(letters.begin(), letters.end());
  for (const char letter : letters)
    if (std::count(letters.begin(), letters.end(), letter) == 1) output += letter;
  return equation + "->" + (equation.find("...") != equation.npos ? "..." : "") + output;
}

void map_einsum(WriteCall& call) {
  const std::string equation = with_arrow(std::string(call.text("equation")));
  if (call.node.inputs.size() > 2) return call.refuse("its kernel takes two operands", "write it with several Einsums");
  if (!has_products(call.elem(0))) return call.refuse("its kernel does not take these elements");
  call.result(call.emit("Einsum", {{"inputs", call.inputs()}, {"equation", call.keep(equation)}}, call.output_type()));
}

/// Integers without their zero points, as int32.
ValueId centred(WriteCall& call, std::size_t input, std::size_t zero_point, bool is_left) {
  const ValueId x = cast(call, call.input(input), ElementType::int32);
  if (!call.has(zero_point)) return x;
  ValueId zero = cast(call, call.input(zero_point), ElementType::int32);
  const bool is_column =
      is_left && call.shape(zero_point) && call.shape(zero_point)->size() == 1 && !(*call.shape(zero_point))[0].is(1);
  if (is_column) zero = expand_dims(call, zero, 1);
  return binary(call, "Sub", x, zero);
}

void map_matmul_integer(WriteCall& call) {
  if (call.rank(0) == 0 || call.rank(1) == 0) return call.refuse("it multiplies scalars");
  const ValueId a = centred(call, 0, 2, true), b = centred(call, 1, 3, false);
  call.result(multiplied(call, a, b));
}

/// The product of integers, then its scale and rounding.
void map_qlinear_matmul(WriteCall& call) {
  const ElementType to = call.output_type().elem;
  if (call.rank(0) == 0 || call.rank(3) == 0) return call.refuse("it multiplies scalars");
  if (to != ElementType::uint8 && to != ElementType::int8) return call.refuse("it gives other integers than bytes");
  const ValueId a = centred(call, 0, 2, true), b = centred(call, 3, 5, false), product = multiplied(call, a, b);
  const auto scale = [&](std::size_t input, bool is_left) {
    const ValueId given = cast(call, call.input(input), ElementType::float32);
    const bool is_column =
        is_left && call.shape(input) && call.shape(input)->size() == 1 && !(*call.shape(input))[0].is(1);
    return is_column ? expand_dims(call, given, 1) : given;
  };
  const ValueId factor = binary(call, "RealDiv", binary(call, "Mul", scale(1, true), scale(4, false)), scale(6, true));
  ValueId steps = unary(call, "Round", binary(call, "Mul", cast(call, product, ElementType::float32), factor));
  steps = binary(call, "AddV2", steps, cast(call, call.input(7), ElementType::float32));
  const bool is_signed = to == ElementType::int8;
  steps = binary(call, "Maximum", steps, is_signed ? -128.0 : 0.0);
  call.result(cast(call, binary(call, "Minimum", steps, is_signed ? 127.0 : 255.0), to));
}

void map_det(WriteCall& call) {
  if (call.elem(0) != ElementType::float32 && call.elem(0) != ElementType::float64)
    return call.refuse("its kernel takes float32 and float64 only");
  call.result(call.emit("MatrixDeterminant", {{"input", call.input(0)}}, call.output_type()));
}

}  // namespace

void register_matmul(Writers& writers);
void register_matmul(Writers& writers) {
  writers.add("MatMul", map_matmul);
  writers.add("Gemm", map_gemm);
  writers.add("Einsum", map_einsum);
  writers.add("MatMulInteger", map_matmul_integer);
  writers.add("QLinearMatMul", map_qlinear_matmul);
  writers.add("Det", map_det);
}

}  // namespace onnxkit::to_tensorflow
