// Norms of vectors and matrices.
#include <cmath>
#include <limits>
#include <optional>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/vector_norm.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::string_view needs_singular_values = "norms by singular values have no counterpart in ONNX";

/// The operand, in another type where one is asked for.
Val operand_of(Call& call) {
  const Val x = call.tensor("self");
  const ElementType wanted = call.elem("dtype");
  return wanted == ElementType::undefined ? x : call.onnx.cast(x, wanted);
}

bool keeps_axes(Call& call) { return call.flag("keepdim", false); }

void map_vector_norm(Call& call) {
  const Val x = operand_of(call);
  const double order = call.real(call.has("p") ? "p" : "ord", 2);
  call.result(vector_norm(call, x, call.axes("dim", call.rank(x)), keeps_axes(call), order));
}

/// The largest or smallest sum along one axis of two.
void give_extremum_of_sums(Call& call, Val x, std::int64_t sum_axis, std::int64_t other_axis, bool is_largest) {
  auto& onnx = call.onnx;
  const std::vector<ir::Attr> keeps = {{"keepdims", std::int64_t{1}}};
  const Val sums = onnx.emit("ReduceL1", {x, onnx.integers({sum_axis})}, keeps);
  const Val extremum = onnx.emit(is_largest ? "ReduceMax" : "ReduceMin", {sums, onnx.integers({other_axis})}, keeps);
  call.result(keeps_axes(call) ? extremum : onnx.squeeze(extremum, {sum_axis, other_axis}));
}

/// Both axes of matrices, from `dim` or as they are when it is left out.
std::optional<std::vector<std::int64_t>> axes_of_matrices(Call& call, Val x) {
  const std::size_t rank = call.rank(x);
  const auto last = static_cast<std::int64_t>(rank) - 1;
  const auto axes = call.has("dim") ? call.axes("dim", rank) : std::vector<std::int64_t>{last - 1, last};
  if (rank >= 2 && axes.size() == 2 && axes[0] != axes[1]) return axes;
  call.refuse("a matrix has two axes");
  return std::nullopt;
}

void give_matrix_norm(Call& call, Val x, double order) {
  const auto axes = axes_of_matrices(call, x);
  if (!axes) return;
  if (std::abs(order) == 2) return call.refuse(std::string(needs_singular_values));
  const bool is_infinite = std::isinf(order);
  if (!is_infinite && std::abs(order) != 1) return call.refuse("matrices have no norm of this order");
  give_extremum_of_sums(call, x, (*axes)[is_infinite ? 1 : 0], (*axes)[is_infinite ? 0 : 1], order > 0);
}

void map_named_matrix_norm(Call& call) {
  const Val x = operand_of(call);
  const auto axes = axes_of_matrices(call, x);
  if (!axes) return;
  if (call.text("ord", "fro") != "fro") return call.refuse(std::string(needs_singular_values));
  call.result(vector_norm(call, x, *axes, keeps_axes(call), 2));
}

void map_matrix_norm(Call& call) { give_matrix_norm(call, operand_of(call), call.real("ord", 2)); }

/// Of matrices where an order is given and two axes are meant, else of vectors.
void map_norm(Call& call) {
  const Val x = operand_of(call);
  const std::size_t rank = call.rank(x);
  const std::size_t axes = call.has("dim") ? call.integers("dim").size() : rank;
  if (call.has("ord") && axes == 2) return give_matrix_norm(call, x, call.real("ord", 2));
  call.result(vector_norm(call, x, call.axes("dim", rank), keeps_axes(call), call.real("ord", 2)));
}

void map_frobenius_norm(Call& call) {
  const Val x = call.tensor("self");
  call.result(vector_norm(call, x, call.axes("dim", call.rank(x)), keeps_axes(call), 2));
}

/// Rows along an axis are made no longer than a bound.
void map_renorm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const std::size_t rank = call.rank(x);
  const std::int64_t kept = call.axis("dim", 0, rank);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    if (axis != kept) axes.push_back(axis);
  if (axes.empty()) return call.refuse("a tensor has at least two axes");
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  const Val norm = vector_norm(call, onnx.cast(x, wide), axes, true, call.real("p", 2));
  const Val bound = call.number("maxnorm", wide);
  const Val shorter = onnx.emit("Div", {bound, onnx.emit("Add", {norm, onnx.scalar(wide, 1e-7)})});
  const Val factor = onnx.emit("Where", {onnx.emit("Greater", {norm, bound}), shorter, onnx.scalar(wide, 1)});
  call.result(onnx.emit("Mul", {x, onnx.cast(factor, type)}));
}

}  // namespace

void register_norm(Mappings& mappings);
void register_norm(Mappings& mappings) {
  mappings.add({"aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar",
                "aten.norm.ScalarOpt_dim_dtype", "aten.norm.ScalarOpt_dtype"},
               map_vector_norm);
  mappings.add("aten.linalg_matrix_norm.default", map_matrix_norm);
  mappings.add("aten.linalg_norm.default", map_norm);
  mappings.add({"aten.linalg_matrix_norm.str_ord", "aten.linalg_norm.ord_str"}, map_named_matrix_norm);
  mappings.add("aten.frobenius_norm.dim", map_frobenius_norm);
  mappings.add("aten.renorm.default", map_renorm);
}

}  // namespace onnxkit::pt2
