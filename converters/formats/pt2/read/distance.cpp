// Distances between vectors.
#include <algorithm>
#include <cmath>
#include <optional>

#include "converters/foreign/slices.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/pairs.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/vector_norm.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// sqrt(|a|^2 + |b|^2 - 2 a b): products in place of a tensor of all differences, as PyTorch does where there are many vectors.
Val distances_by_products(Call& call, Val a, Val b) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(a);
  const auto turned = [&](Val x) { return foreign::with_last_axes_swapped(call, x); };
  const auto squares = [&](Val x) {
    return onnx.emit("ReduceSumSquare", {x, onnx.integers({-1})}, {{"keepdims", std::int64_t{1}}});
  };
  const Val product = onnx.emit("MatMul", {onnx.emit("Mul", {a, onnx.scalar(type, -2)}), turned(b)});
  const Val sum = onnx.emit("Add", {onnx.emit("Add", {product, squares(a)}), turned(squares(b))});
  return onnx.emit("Sqrt", {onnx.emit("Max", {sum, onnx.scalar(type, 0)})});
}

/// Whether PyTorch takes products: where it is told to, or where either side is known to have more than 25 vectors and it is not told otherwise.
bool takes_products(Call& call, Val a, Val b) {
  constexpr std::int64_t if_many = 0, always = 1, many = 25;
  const std::int64_t mode = call.has("compute_mode") ? call.integer("compute_mode", if_many) : if_many;
  if (mode == always) return true;
  const auto rows_a = call.onnx.size(a, call.rank(a) - 2), rows_b = call.onnx.size(b, call.rank(b) - 2);
  return mode == if_many && ((rows_a && *rows_a > many) || (rows_b && *rows_b > many));
}

/// Of order 0 each difference counts 1, and one that is not a number makes the sum none.
Val norm_of_differences(Call& call, Val gap, std::int64_t axis, double order) {
  auto& onnx = call.onnx;
  if (order != 0) return vector_norm(call, gap, {axis}, false, order);
  const Val one = onnx.scalar(onnx.elem(gap), 1);
  const Val counts = onnx.emit("Min", {onnx.emit("Ceil", {onnx.emit("Abs", {gap})}), one});
  return onnx.emit("ReduceSum", {counts, onnx.integers({axis})}, {{"keepdims", std::int64_t{0}}});
}

/// From each vector of one tensor to each of the other.
void map_all_distances(Call& call) {
  auto& onnx = call.onnx;
  const Val a = call.tensor("x1"), b = call.tensor("x2");
  const std::size_t rank_a = call.rank(a), rank_b = call.rank(b);
  if (rank_a < 2 || rank_b < 2) return call.refuse("vectors are rows of matrices");
  const double order = call.real("p", 2);
  if (call.node.op == "aten._euclidean_dist.default" || (order == 2 && takes_products(call, a, b)))
    return call.result(distances_by_products(call, a, b));
  Val gap = onnx.emit("Sub", {onnx.unsqueeze(a, {static_cast<std::int64_t>(rank_a) - 1}),
                              onnx.unsqueeze(b, {static_cast<std::int64_t>(rank_b) - 2})});
  // The largest difference is that of what are numbers.
  if (std::isinf(order)) gap = onnx.emit("Where", {onnx.emit("IsNaN", {gap}), onnx.scalar(onnx.elem(gap), 0), gap});
  // Vectors without elements have no largest difference, but no distance either.
  const bool has_no_elements = onnx.size(a, rank_a - 1) == 0;
  const auto last = static_cast<std::int64_t>(std::max(rank_a, rank_b));
  call.result(norm_of_differences(call, gap, last, has_no_elements ? 1 : order));
}

/// Between the rows of one matrix, each pair once.
void map_distances_of_pairs(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  if (call.rank(x) != 2) return call.refuse("vectors are rows of a matrix");
  const Pairs pairs = pairs_of_rows(call, x);
  const auto rows = [&](Val places) { return onnx.emit("Gather", {x, places}, {{"axis", std::int64_t{0}}}); };
  const Val gap = onnx.emit("Sub", {rows(pairs.first), rows(pairs.second)});
  call.result(norm_of_differences(call, gap, 1, call.real("p", 2)));
}

/// The norm of the difference of all elements.
void map_distance(Call& call) {
  auto& onnx = call.onnx;
  const Operands pair = operands_of(call);
  if (!is_floating(pair.type)) return call.refuse("a distance between integers");
  const Val gap = onnx.emit("Sub", {pair.a, pair.b});
  call.result(vector_norm(call, onnx.reshape(gap, {-1}), {0}, false, call.real("p", 2)));
}

void map_pairwise_distance(Call& call) {
  const Operands pair = operands_of(call, "x1", "x2");
  if (!is_floating(pair.type)) return call.refuse("a distance between integers");
  call.result(
      distance_of_rows(call, pair.a, pair.b, call.real("eps", 1e-6), call.real("p", 2), call.flag("keepdim", false)));
}

/// The sum of the products of both, each over its norm, which is `eps` at least.
void map_cosine_similarity(Call& call) {
  auto& onnx = call.onnx;
  Operands pair = operands_of(call, "x1", "x2");
  if (!is_floating(pair.type)) return call.refuse("a similarity of integers");
  if (call.rank(pair.a) == 0 && call.rank(pair.b) == 0)
    pair = {onnx.unsqueeze(pair.a, {0}), onnx.unsqueeze(pair.b, {0}), pair.type};
  const Val shape = onnx.emit("Shape", {onnx.emit("Mul", {pair.a, pair.b})});
  const std::size_t rank = std::max(call.rank(pair.a), call.rank(pair.b));
  const std::int64_t axis = call.axis("dim", 1, rank);
  const auto size_along = [&](Val x) -> std::optional<std::int64_t> {
    const std::int64_t own = axis - static_cast<std::int64_t>(rank - call.rank(x));
    return own < 0 ? std::nullopt : onnx.size(x, static_cast<std::size_t>(own));
  };
  const auto size_a = size_along(pair.a), size_b = size_along(pair.b);
  const bool is_broadcast = !size_a || size_a != size_b;
  const Val axes = onnx.integers({axis}), least = onnx.scalar(pair.type, call.real("eps", 1e-8));
  const auto unit = [&](Val x) {
    // The norm is that of all elements along the axis, those of broadcasting among them.
    if (is_broadcast || call.rank(x) != rank) x = onnx.emit("Expand", {x, shape});
    const Val norm = onnx.emit("ReduceL2", {x, axes}, {{"keepdims", std::int64_t{1}}});
    return onnx.emit("Div", {x, onnx.emit("Max", {norm, least})});
  };
  const Val product = onnx.emit("Mul", {unit(pair.a), unit(pair.b)});
  call.result(onnx.emit("ReduceSum", {product, axes}, {{"keepdims", std::int64_t{0}}}));
}

}  // namespace

void register_distance(Mappings& mappings);
void register_distance(Mappings& mappings) {
  mappings.add({"aten.cdist.default", "aten._cdist_forward.default", "aten._euclidean_dist.default"},
               map_all_distances);
  mappings.add({"aten.pdist.default", "aten._pdist_forward.default"}, map_distances_of_pairs);
  mappings.add("aten.dist.default", map_distance);
  mappings.add("aten.pairwise_distance.default", map_pairwise_distance);
  mappings.add("aten.cosine_similarity.default", map_cosine_similarity);
}

}  // namespace onnxkit::pt2
