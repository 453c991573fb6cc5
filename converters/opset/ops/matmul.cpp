#include <algorithm>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/select.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

constexpr ElementType real_matmul = ElementType::float64;  // holds products and sums of 8-bit integers exactly

/// A scale or zero point in float64, with one row for each element where it belongs to the left factor.
ValueId per_line(Step& step, std::size_t input, std::size_t matrix, bool is_left) {
  const ValueId given = step.input(input);
  const ValueId value = cast(step, given, real_matmul, "wide");
  if (!is_left || step.need_rank(given) != 1 || step.need_rank(step.input(matrix)) < 2) return value;
  return unsqueeze(step, value, {1}, "per_row");
}

ValueId factor(Step& step, std::size_t matrix, std::size_t zero_point, bool is_left) {
  const ValueId x = cast(step, step.input(matrix), real_matmul, "wide");
  if (!step.has_input(zero_point)) return x;
  return step.add("Sub", {x, per_line(step, zero_point, matrix, is_left)}, {}, "shifted");
}

void integer_product(Step& step) {
  const ValueId a = factor(step, 0, 2, true), b = factor(step, 1, 3, false);
  cast_into(step, step.add("MatMul", {a, b}, {}, "product"), ElementType::int32, step.output(0));
  step.replace();
}

void quantized_product(Step& step) {
  const ElementType type = step.need_elem(step.input(7));
  for (const std::size_t of_result : {6, 7}) {
    const auto sizes = step.sizes(step.input(of_result));
    if (sizes && std::any_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size != 1; }))
      refuse(
          "the result has several scales or zero points, and the specification does not say whether they belong "
          "to rows");
  }
  const ValueId a = factor(step, 0, 2, true), b = factor(step, 3, 5, false);
  const ValueId product = step.add("MatMul", {a, b}, {}, "product");
  const ValueId scales = step.add("Mul", {per_line(step, 1, 0, true), per_line(step, 4, 3, false)}, {}, "scales");
  const ValueId scaled = step.add(
      "Div", {step.add("Mul", {product, scales}, {}, "scaled"), cast(step, step.input(6), real_matmul, "y_scale")}, {},
      "in_steps");
  const ValueId shifted = step.add(
      "Add", {rounded(step, scaled, real_matmul), cast(step, step.input(7), real_matmul, "y_zero")}, {}, "shifted");
  const ValueId low = step.number(real_matmul, static_cast<double>(least_of(type)), "least");
  const ValueId high = step.number(real_matmul, static_cast<double>(greatest_of(type)), "greatest");
  const ValueId clipped = step.add("Min", {step.add("Max", {shifted, low}, {}, "at_least"), high}, {}, "clipped");
  cast_into(step, clipped, type, step.output(0));
  step.replace();
}

}  // namespace

void register_matmul(StepRegistry& registry) {
  registry.types({"MatMul"}, {9, 13});
  registry.introduced({"MatMulInteger"}, 10, adapt("rewritten as MatMul of float64, which is exact", integer_product));
  registry.introduced({"QLinearMatMul"}, 10,
                      adapt("rewritten as MatMul of float64, scaled and rounded", quantized_product));
  registry.change({"QLinearMatMul"}, 21, compatible("more types are allowed"),
                  by_way_of(through_float32({ElementType::float16, ElementType::bfloat16})));
}

}  // namespace onnxkit::opset
