// Gemm: alpha * A' * B' + beta * C. Until version 6 C is broadcast only when `broadcast` says so; from 7 on it always broadcasts to the
// product, and from 11 on it may be left out.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

/// [rows, columns] of A' or B'; unknown sizes when the shape is.
Shape matrix(InferContext& context, std::size_t input, std::string_view transposed) {
  const Shape* shape = context.input_shape(input);
  if (!shape) return Shape(2);
  if (context.integer(transposed) == 0) return *shape;
  return {(*shape)[1], (*shape)[0]};
}

/// Reports inner sizes that can never be equal.
bool inner_sizes_agree(InferContext& context, const Shape& a, const Shape& b) {
  DimPool& dims = context.dims();
  if (!context.sizes_clash(a[1], b[0])) return true;
  const bool transposed = context.integer("transB") != 0;
  const bool other_way_fits = !dims.never_equal(a[1], b[1]);
  context.error({.code = "shape-mismatch",
                 .at = at_input(1),
                 .message = "inner sizes differ",
                 .expected = fmt::format("{} in axis {}, because input 0 is {}", context.text(a[1]), transposed ? 1 : 0,
                                         context.text(*context.input_shape(0))),
                 .found = context.text(*context.input_shape(1)),
                 .note = other_way_fits ? fmt::format("the shapes would agree with transB = {}", transposed ? 0 : 1)
                                        : std::string()});
  return false;
}

void infer_gemm(InferContext& context) {
  if (rank_differs(context, 0, 2) || rank_differs(context, 1, 2)) return;
  const Shape a = matrix(context, 0, "transA");
  const Shape b = matrix(context, 1, "transB");
  if (!inner_sizes_agree(context, a, b)) return context.set_shape(0, Shape(2));
  const Shape y{a[0], b[1]};
  const bool broadcasts = context.since() >= 7 || context.integer("broadcast") != 0;
  if (broadcasts) {
    require_broadcast_to(context, 2, y, "C does not broadcast to the product");
  } else {
    require_shape(context, 2, y, "C must have the shape of the product because broadcast is not set");
  }
  context.set_shape(0, y);
}

}  // namespace

void register_gemm(InferRegistry& registry) { registry.add("Gemm", all_versions(), infer_gemm, {.cost = cost::gemm}); }

}  // namespace onnxkit::checker
