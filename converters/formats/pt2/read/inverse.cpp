// Inverses of matrices, solutions of linear equations and powers: elimination with pivots, written out for matrices of a known size.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "converters/foreign/slices.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t most_rows = 16, to_end_of_axis = std::numeric_limits<std::int64_t>::max();

/// The size of square matrices, which are the last two axes.
std::optional<std::int64_t> size_of_square(Call& call, Val a) {
  const std::size_t rank = call.rank(a);
  const auto rows = rank < 2 ? std::nullopt : call.onnx.size(a, rank - 2);
  if (rows && *rows >= 0 && *rows <= most_rows && call.onnx.size(a, rank - 1) == rows) return rows;
  call.refuse("equations are written out for up to 16 unknowns, whose number is known");
  return std::nullopt;
}

Val band_of(Call& call, Val x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  auto& onnx = call.onnx;
  return onnx.emit("Slice", {x, onnx.integers({start}), onnx.integers({end}), onnx.integers({axis})});
}

/// Rows of a triangle, its diagonal and the right sides; which pivot was the first to be zero, counted from 1, or 0.
struct Eliminated {
  std::vector<Val> rows, pivots, sides;
  Val info;
};

/// One step: the row with the largest element of the first column comes to the top, and is taken from those below, of which the column goes.
Val eliminate(Call& call, Val rows, std::int64_t left, Eliminated& done) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < left; ++i) places.push_back(i);
  Val top = rows, below;
  if (left > 1) {
    const Val size = onnx.emit("Abs", {band_of(call, rows, -1, 0, 1)});
    const Val at = onnx.emit("ArgMax", {size}, {{"axis", std::int64_t{-2}}, {"keepdims", std::int64_t{1}}});
    const Val is_pivot = onnx.emit("Equal", {onnx.reshape(onnx.integers(places), {left, 1}), at});
    const Val zero = onnx.scalar(onnx.elem(rows), 0);
    top = onnx.emit("ReduceSum", {onnx.emit("Where", {is_pivot, rows, zero}), onnx.integers({-2})},
                    {{"keepdims", std::int64_t{1}}});
    below = band_of(call, onnx.emit("Where", {is_pivot, band_of(call, rows, -2, 0, 1), rows}), -2, 1, left);
  }
  const Val pivot = band_of(call, top, -1, 0, 1), rest = band_of(call, top, -1, 1, to_end_of_axis);
  done.pivots.push_back(pivot);
  done.rows.push_back(left > 1 ? band_of(call, rest, -1, 0, left - 1) : Val{});
  done.sides.push_back(band_of(call, rest, -1, left - 1, to_end_of_axis));
  if (left == 1) return rows;
  const Val factors = onnx.emit("Div", {band_of(call, below, -1, 0, 1), pivot});
  return onnx.emit("Sub", {band_of(call, below, -1, 1, to_end_of_axis), onnx.emit("Mul", {factors, rest})});
}

/// 0 where no pivot is zero.
Val info_of(Call& call, const std::vector<Val>& pivots) {
  auto& onnx = call.onnx;
  Val info = onnx.scalar_integer(ElementType::int32, 0);
  for (std::size_t i = pivots.size(); i-- > 0;) {
    const Val is_zero = onnx.emit("Equal", {pivots[i], onnx.scalar(onnx.elem(pivots[i]), 0)});
    const Val number = onnx.scalar_integer(ElementType::int32, static_cast<std::int64_t>(i) + 1);
    info = onnx.emit("Where", {is_zero, number, info});
  }
  return onnx.squeeze(info, {-2, -1});
}

/// The solution, rows of a last axis but one, and the info.
struct Solution {
  Val x, info;
};

/// Of A x = B for n rows and batches of one shape.
Solution solved(Call& call, Val a, Val b, std::int64_t n) {
  auto& onnx = call.onnx;
  if (n == 0) {
    const Val batch = onnx.emit("Shape", {a}, {{"end", std::int64_t{-2}}});
    return {b, onnx.emit("Expand", {onnx.scalar_integer(ElementType::int32, 0), batch})};
  }
  Val rows = onnx.emit("Concat", {a, b}, {{"axis", std::int64_t{-1}}});
  Eliminated done;
  for (std::int64_t i = 0; i < n; ++i) rows = eliminate(call, rows, n - i, done);
  Val x;
  for (std::size_t i = done.pivots.size(); i-- > 0;) {
    Val side = done.sides[i];
    if (x) side = onnx.emit("Sub", {side, onnx.emit("MatMul", {done.rows[i], x})});
    const Val row = onnx.emit("Div", {side, done.pivots[i]});
    x = x ? onnx.emit("Concat", {row, x}, {{"axis", std::int64_t{-2}}}) : row;
  }
  return {x, info_of(call, done.pivots)};
}

/// Ones on the diagonal, for each matrix of the batch.
Val identity_like(Call& call, Val a, std::int64_t n) {
  auto& onnx = call.onnx;
  std::vector<double> elements(static_cast<std::size_t>(n * n), 0);
  for (std::int64_t i = 0; i < n; ++i) elements[static_cast<std::size_t>(i * n + i)] = 1;
  const Val one = onnx.reals(onnx.elem(a), {n, n}, elements);
  return call.rank(a) == 2 ? one : onnx.emit("Expand", {one, onnx.emit("Shape", {a})});
}

void map_inverse(Call& call) {
  const Val a = call.tensor(call.has("A") ? "A" : "self");
  const auto n = size_of_square(call, a);
  if (!n) return;
  const Solution found = solved(call, a, identity_like(call, a, *n), *n);
  call.node.outputs.size() > 1 ? call.results({found.x, found.info}) : call.result(found.x);
}

/// Whether B has a vector for each matrix: an axis less, and the sizes of A without its last.
std::optional<bool> has_vectors(Call& call, Val a, Val b) {
  const std::size_t rank_a = call.rank(a), rank_b = call.rank(b);
  if (rank_b == 1) return true;
  if (rank_b + 1 != rank_a) return false;
  for (std::size_t axis = 0; axis < rank_b; ++axis) {
    const auto of_a = call.onnx.size(a, axis), of_b = call.onnx.size(b, axis);
    if (of_a && of_b && *of_a != *of_b) return false;
    if (!of_a || !of_b) {
      call.refuse("whether the right sides are vectors or matrices depends on sizes that are not known");
      return std::nullopt;
    }
  }
  return true;
}

/// Both with the batch that they broadcast to.
void broadcast_batches(Call& call, Val& a, Val& b) {
  auto& onnx = call.onnx;
  const auto corner = [&](Val x) { return band_of(call, band_of(call, x, -1, 0, 1), -2, 0, 1); };
  if (call.rank(a) == 2 && call.rank(b) == 2) return;
  const Val shape = onnx.emit("Shape", {onnx.emit("Add", {corner(a), corner(b)})}, {{"end", std::int64_t{-2}}});
  const auto rank_a = static_cast<std::int64_t>(call.rank(a)), rank_b = static_cast<std::int64_t>(call.rank(b));
  const auto expanded = [&](Val x, std::int64_t rank) {
    return onnx.emit("Expand", {x, onnx.joined({shape, onnx.size_of(x, rank - 2), onnx.size_of(x, rank - 1)})});
  };
  a = expanded(a, rank_a);
  b = expanded(b, rank_b);
}

void map_solve(Call& call) {
  auto& onnx = call.onnx;
  Val a = call.tensor("A"), b = call.tensor("B");
  const auto n = size_of_square(call, a);
  if (call.rank(b) == 0) return call.refuse("the right side is a number");
  const auto is_vector = n ? has_vectors(call, a, b) : std::nullopt;
  if (!is_vector) return;
  const bool is_left = call.flag("left", true);
  if (*is_vector) b = onnx.unsqueeze(b, {-1});
  if (!is_left) a = foreign::with_last_axes_swapped(call, a);
  if (!is_left && !*is_vector) b = foreign::with_last_axes_swapped(call, b);
  broadcast_batches(call, a, b);
  const Solution found = solved(call, a, b, *n);
  const Val x = *is_vector ? onnx.squeeze(found.x, {-1})
                : is_left  ? found.x
                           : foreign::with_last_axes_swapped(call, found.x);
  // The inner form also gives the triangles and the pivots, for derivatives.
  std::vector<Val> results(std::max<std::size_t>(call.node.outputs.size(), 1));
  results.front() = x;
  if (results.size() > 1) results.back() = found.info;
  call.results(results);
}

/// By squares; a negative power is one of the inverse.
void map_matrix_power(Call& call) {
  auto& onnx = call.onnx;
  Val a = call.tensor("self");
  std::int64_t n = call.integer("n", 1);
  constexpr std::int64_t most = 1 << 20;
  if (n < -most || n > most) return call.refuse("so high a power");
  if (n <= 0) {
    const auto size = size_of_square(call, a);
    if (!size) return;
    const Val one = identity_like(call, a, *size);
    if (n == 0) return call.result(one);
    a = solved(call, a, one, *size).x;
  }
  Val result, square = a;
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2 != 0) result = result ? onnx.emit("MatMul", {result, square}) : square;
    if (n > 1) square = onnx.emit("MatMul", {square, square});
  }
  call.result(result);
}

}  // namespace

void register_inverse(Mappings& mappings);
void register_inverse(Mappings& mappings) {
  mappings.add({"aten.linalg_inv.default", "aten.inverse.default", "aten.linalg_inv_ex.default"}, map_inverse);
  mappings.add({"aten.linalg_solve.default", "aten.linalg_solve_ex.default", "aten._linalg_solve_ex.default"},
               map_solve);
  mappings.add({"aten.linalg_matrix_power.default", "aten.matrix_power.default"}, map_matrix_power);
}

}  // namespace onnxkit::pt2
