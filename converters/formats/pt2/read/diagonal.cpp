// Diagonals of matrices.
#include <algorithm>
#include <cstdlib>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t most_of_matrix = 1 << 22;

/// The diagonal of two axes as the last axis.
Val diagonal_of(Call& call, Val x, std::int64_t offset, std::int64_t first, std::int64_t second) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  const auto rows = onnx.size(x, static_cast<std::size_t>(first)),
             columns = onnx.size(x, static_cast<std::size_t>(second));
  if (offset < -most_of_matrix || offset > most_of_matrix || first == second || !rows || !columns ||
      *rows > most_of_matrix || *columns > most_of_matrix) {
    call.refuse("the sizes of the matrix are not known, or too large");
    return x;
  }
  std::vector<std::int64_t> order, places;
  std::vector<Val> sizes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    if (axis != first && axis != second) {
      order.push_back(axis);
      sizes.push_back(onnx.size_of(x, axis));
    }
  order.insert(order.end(), {first, second});
  sizes.push_back(onnx.integers({*rows * *columns}));
  for (std::int64_t row = std::max<std::int64_t>(0, -offset); row < *rows && row + offset < *columns; ++row)
    places.push_back(row * *columns + row + offset);
  const Val flat =
      onnx.emit("Reshape", {onnx.transpose(x, order), onnx.joined(sizes)}, {{"allowzero", std::int64_t{1}}});
  return onnx.emit("Gather", {flat, onnx.integers(places)}, {{"axis", std::int64_t{-1}}});
}

void map_diagonal(Call& call) {
  const Val x = call.tensor(call.has("A") ? "A" : "self");
  const std::size_t rank = call.rank(x);
  const std::int64_t last = call.has("A") ? -2 : 0;
  const std::int64_t first = call.axis("dim1", last, rank), second = call.axis("dim2", last + 1, rank);
  call.result(diagonal_of(call, x, call.integer("offset", 0), first, second));
}

void map_trace(Call& call) {
  auto& onnx = call.onnx;
  Val diagonal = diagonal_of(call, call.tensor("self"), 0, 0, 1);
  if (!is_floating(onnx.elem(diagonal))) diagonal = onnx.cast(diagonal, ElementType::int64);
  call.result(onnx.emit("ReduceSum", {diagonal, onnx.integers({0})}, {{"keepdims", std::int64_t{0}}}));
}

/// The last axis on a diagonal of a matrix of zeros: the zero is one element more, which all other places take.
Val embedded(Call& call, Val x, std::int64_t offset) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  const auto count = rank == 0 ? std::nullopt : onnx.size(x, rank - 1);
  constexpr std::int64_t most = 2048;
  if (!count || *count > most || offset < -most || offset > most) {
    call.refuse("the length of the diagonal is not known, or too large");
    return x;
  }
  const std::int64_t size = *count + std::abs(offset);
  std::vector<std::int64_t> places(static_cast<std::size_t>(size * size), *count), pads(2 * rank, 0);
  const std::int64_t below = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
  for (std::int64_t i = 0; i < *count; ++i) places[static_cast<std::size_t>((i + below) * size + i + right)] = i;
  pads.back() = 1;
  const Val padded = onnx.emit("Pad", {x, onnx.integers(pads)}, {{"mode", std::string("constant")}});
  const Val at = onnx.reshape(onnx.integers(places), {size, size});
  return onnx.emit("Gather", {padded, at}, {{"axis", std::int64_t{-1}}});
}

void map_diagonal_matrix(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x) + 1;
  const std::int64_t first = call.axis("dim1", -2, rank), second = call.axis("dim2", -1, rank);
  if (first == second) return call.refuse("a matrix has two axes");
  std::vector<std::int64_t> order;
  std::int64_t next = 0;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    const auto last = static_cast<std::int64_t>(rank) - 1;
    order.push_back(axis == first ? last - 1 : axis == second ? last : next++);
  }
  call.result(onnx.transpose(embedded(call, x, call.integer("offset", 0)), order));
}

/// The diagonal of a matrix, or the matrix with a diagonal.
void map_diag(Call& call) {
  const Val x = call.tensor("self");
  const std::int64_t offset = call.integer("diagonal", call.integer("offset", 0));
  call.result(call.rank(x) == 2 ? diagonal_of(call, x, offset, 0, 1) : embedded(call, x, offset));
}

/// All elements on a diagonal.
void map_flat_diagonal(Call& call) {
  call.result(embedded(call, call.onnx.reshape(call.tensor("self"), {-1}), call.integer("offset", 0)));
}

/// The places of a diagonal: rows [count, 2] of coordinates.
Val places_of_diagonal(Call& call, Val source, std::int64_t offset) {
  auto& onnx = call.onnx;
  const std::int64_t below = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
  const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
  const Val count = onnx.squeeze(onnx.size_of(source, static_cast<std::int64_t>(call.rank(source)) - 1), {0});
  const Val steps = onnx.unsqueeze(onnx.emit("Range", {zero, count, one}), {1});
  return onnx.emit("Add", {steps, onnx.integers({below, right})});
}

/// A tensor with the diagonal of two axes replaced.
void map_diagonal_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), source = onnx.cast(call.tensor("src"), onnx.elem(x));
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  const std::int64_t first = call.axis("dim1", 0, call.rank(x)), second = call.axis("dim2", 1, call.rank(x));
  if (rank < 2 || first == second || call.rank(source) + 1 != call.rank(x))
    return call.refuse("the diagonal of what has fewer than two axes");
  std::vector<std::int64_t> order = {first, second}, of_source = {rank - 2}, back(static_cast<std::size_t>(rank));
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (axis != first && axis != second) order.push_back(axis);
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) of_source.push_back(axis);
  for (std::int64_t i = 0; i < rank; ++i) back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  const Val places = places_of_diagonal(call, source, call.integer("offset", 0));
  const Val written = onnx.emit("ScatterND", {onnx.transpose(x, order), places, onnx.transpose(source, of_source)});
  call.result(onnx.transpose(written, back));
}

}  // namespace

void register_diagonal(Mappings& mappings);
void register_diagonal(Mappings& mappings) {
  mappings.add({"aten.diagonal.default", "aten.diagonal_copy.default", "aten.linalg_diagonal.default"}, map_diagonal);
  mappings.add("aten.diagonal_scatter.default", map_diagonal_scatter);
  mappings.add("aten.trace.default", map_trace);
  mappings.add("aten.diag_embed.default", map_diagonal_matrix);
  mappings.add("aten.diag.default", map_diag);
  mappings.add("aten.diagflat.default", map_flat_diagonal);
}

}  // namespace onnxkit::pt2
