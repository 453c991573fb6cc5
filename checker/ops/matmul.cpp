// MatMul, MatMulInteger, QLinearMatMul: numpy's matmul. A vector on the left is a row, on the right a column; the axis that this adds is
// removed from the result. Axes before the last two are broadcast.

#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

/// Shape of a @ b. Reports shape-mismatch at input `b_index`.
std::optional<Shape> matmul_shape(InferContext& context, std::size_t a_index, std::size_t b_index) {
  if (rank_below(context, a_index, 1) || rank_below(context, b_index, 1)) return std::nullopt;
  const Shape* a = context.input_shape(a_index);
  const Shape* b = context.input_shape(b_index);
  if (!a || !b) return std::nullopt;
  const Dim a_inner = a->back();
  const Dim b_inner = b->size() == 1 ? b->front() : (*b)[b->size() - 2];
  if (context.sizes_clash(a_inner, b_inner)) {
    context.error(
        {.code = "shape-mismatch",
         .at = at_input(b_index),
         .message = "inner sizes differ",
         .expected = fmt::format("{} rows, because input {} is {}", context.text(a_inner), a_index, context.text(*a)),
         .found = context.text(*b)});
    return std::nullopt;
  }
  context.need_equal(a_inner, b_inner, at_input(b_index));
  const std::size_t a_batch = a->size() < 2 ? 0 : a->size() - 2;
  const std::size_t b_batch = b->size() < 2 ? 0 : b->size() - 2;
  const std::size_t batch = std::max(a_batch, b_batch);
  Shape result;
  for (std::size_t i = 0; i < batch; ++i) {
    const Dim left = i + a_batch < batch ? Dim(1) : (*a)[i + a_batch - batch];
    const Dim right = i + b_batch < batch ? Dim(1) : (*b)[i + b_batch - batch];
    const bool clash = left.is_constant() && right.is_constant() && !(left == right) && !left.is(1) && !right.is(1);
    if (clash) {
      context.error({.code = "broadcast-mismatch",
                     .at = at_input(b_index),
                     .message = "batch axes cannot be broadcast",
                     .expected = fmt::format("batch axes that broadcast to {}", context.text(*a)),
                     .found = context.text(*b)});
      return std::nullopt;
    }
    result.push_back(broadcast_dim(context, left, right));
  }
  if (a->size() > 1) result.push_back((*a)[a->size() - 2]);
  if (b->size() > 1) result.push_back(b->back());
  return result;
}

/// Scales and zero points of a factor: a scalar, one for each row of A (column of B), or the factor's shape with its inner axis 1.
void check_per_line(InferContext& context, std::size_t input, std::size_t matrix, bool rows, std::string_view why) {
  const Shape* given = context.input_shape(input);
  const Shape* factor = context.input_shape(matrix);
  if (!given || given->empty() || (given->size() == 1 && given->front().is(1)) || !factor || factor->size() < 2) return;
  const std::size_t lines = factor->size() - (rows ? 2 : 1);
  if (given->size() == 1) {
    require_shape(context, input, {(*factor)[lines]}, why);
    return;
  }
  Shape expected = *factor;
  expected[factor->size() - (rows ? 1 : 2)] = 1;
  require_shape(context, input, expected, why);
}

void infer_matmul(InferContext& context) {
  if (auto shape = matmul_shape(context, 0, 1)) context.set_shape(0, std::move(*shape));
}

void infer_matmul_integer(InferContext& context) {
  infer_matmul(context);
  check_per_line(context, 2, 0, true, "there must be one zero point per row of A, or one for all");
  check_per_line(context, 3, 1, false, "there must be one zero point per column of B, or one for all");
}

void infer_qlinear_matmul(InferContext& context) {
  context.set_elem(0, context.input_elem(7));
  if (auto shape = matmul_shape(context, 0, 3)) context.set_shape(0, std::move(*shape));
  check_per_line(context, 1, 0, true, "there must be one scale per row of A, or one for all");
  check_per_line(context, 2, 0, true, "there must be one zero point per row of A, or one for all");
  check_per_line(context, 4, 3, false, "there must be one scale per column of B, or one for all");
  check_per_line(context, 5, 3, false, "there must be one zero point per column of B, or one for all");
}

}  // namespace

void register_matmul(InferRegistry& registry) {
  registry.add("MatMul", all_versions(), infer_matmul, {.cost = cost::matmul});
  registry.add("MatMulInteger", all_versions(), infer_matmul_integer, {.cost = cost::matmul});
  registry.add("QLinearMatMul", all_versions(), infer_qlinear_matmul, {.cost = cost::matmul});
}

}  // namespace onnxkit::checker
