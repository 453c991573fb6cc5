#include <fmt/core.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

constexpr ElementType wide_det = ElementType::float64;

/// Gaussian elimination with the greatest pivot of a column: which of the rows it is, as a mask of them.
struct Pivot {
  ValueId mask = ValueId::none, is_first = ValueId::none;
};

Pivot greatest_in_first_column(Step& step, ValueId rows, std::int64_t count) {
  const ValueId column = step.add("Abs", {slice(step, rows, 2, 0, 1, "column")}, {}, "sizes");
  const ValueId at = step.add("ArgMax", {column}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{1}}}, "pivot");
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i));
  const ValueId places = step.numbers(ElementType::int64, {count, 1}, numbers, "places");
  const ValueId mask = cast(step, step.add("Equal", {places, at}, {}, "is_pivot"), wide_det, "mask");
  return {mask, slice(step, mask, 1, 0, 1, "is_first")};
}

/// Of a matrix without elements: 1.
void determinants_of_nothing(Step& step, std::int64_t rank) {
  const ValueId one = step.number(step.need_elem(step.input(0)), 1, "one");
  std::vector<Size> sizes;
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) sizes.push_back(size_of(step, step.input(0), axis));
  if (sizes.empty()) {
    step.emit("Identity", {one}, {step.output(0)});
  } else {
    step.emit("Expand", {one, as_shape(step, sizes)}, {step.output(0)});
  }
  step.replace();
}

void eliminate(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const std::int64_t rank = step.need_rank(x);
  const checker::Shape& shape = *step.shape(x);
  const checker::Dim size = shape.back();
  constexpr std::int64_t largest = 32;
  if (!size.is_constant() || rank < 2)
    refuse_unknown("the size of the matrix is unknown, and older opsets have no determinants");
  const std::int64_t n = size.constant();
  if (n < 0 || n > largest) refuse(fmt::format("a determinant of size {} would require as many eliminations", n));
  if (n == 0) return determinants_of_nothing(step, rank);
  const ValueId one = step.number(wide_det, 1, "one"), two = step.number(wide_det, 2, "two");
  ValueId rows = reshape(step, cast(step, x, wide_det, "wide"), {-1, n, n}, "matrices"), product = one;
  for (std::int64_t left = n; left > 0; --left) {
    if (left == 1) {
      product = step.add("Mul", {product, rows}, {}, "product");
      break;
    }
    const Pivot pivot = greatest_in_first_column(step, rows, left);
    const ValueId chosen =
        reduce(step, "ReduceSum", step.add("Mul", {rows, pivot.mask}, {}, "masked"), {1}, true, "row");
    const ValueId head = slice(step, chosen, 2, 0, 1, "head");
    const ValueId sign = step.add("Sub", {step.add("Mul", {pivot.is_first, two}), one}, {}, "sign");
    product = step.add("Mul", {product, step.add("Mul", {head, sign}, {}, "factor")}, {}, "product");
    // The first row takes the place of the pivot's.
    const ValueId first = step.add("Mul", {slice(step, rows, 1, 0, 1, "first"), pivot.mask}, {}, "moved");
    const ValueId kept = step.add("Mul", {rows, step.add("Sub", {one, pivot.mask}, {}, "others")}, {}, "kept");
    const ValueId rest = slice(step, step.add("Add", {kept, first}, {}, "exchanged"), 1, 1, left, "rest");
    // Where the whole column is 0, so is the determinant.
    const ValueId is_zero = step.add("Not", {cast(step, head, ElementType::boolean, "is_regular")}, {}, "is_singular");
    const ValueId divisor = step.add("Add", {head, cast(step, is_zero, wide_det, "instead")}, {}, "divisor");
    const ValueId factors = step.add("Div", {slice(step, rest, 2, 0, 1, "column"), divisor}, {}, "factors");
    const ValueId taken = step.add("Mul", {factors, slice(step, chosen, 2, 1, left, "tail")}, {}, "taken");
    rows = step.add("Sub", {slice(step, rest, 2, 1, left, "tails"), taken}, {}, "rows");
  }
  std::vector<Size> sizes;
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) sizes.push_back(size_of(step, x, axis));
  const ValueId flat = cast(step, product, type, "determinants");
  if (sizes.empty()) {
    step.emit("Reshape", {flat, step.vector(std::vector<std::int64_t>(), "scalar")}, {step.output(0)});
  } else {
    step.emit("Reshape", {flat, as_shape(step, sizes)}, {step.output(0)});
  }
  step.replace();
}

}  // namespace

void register_det(StepRegistry& registry) {
  registry.introduced({"Det"}, 11, adapt("rewritten as a Gaussian elimination in float64", eliminate));
  registry.types({"Det"}, {22});
}

}  // namespace onnxkit::opset
