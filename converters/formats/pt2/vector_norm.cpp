#include "converters/formats/pt2/vector_norm.h"

#include <cmath>

namespace onnxkit::pt2 {

using foreign::Call;
using foreign::Val;

Val vector_norm(Call& call, Val x, const std::vector<std::int64_t>& axes, bool keeps, double order) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  const bool is_number = call.rank(x) == 0;
  const auto over_axes = [&](std::string_view op, Val value) {
    if (is_number || axes.empty()) return value;
    return onnx.emit(op, {value, onnx.integers(axes)}, {{"keepdims", std::int64_t{keeps ? 1 : 0}}});
  };
  if (is_number && order != 0) return onnx.emit("Abs", {x});
  if (order == 2) return over_axes("ReduceL2", x);
  if (order == 1) return over_axes("ReduceL1", x);
  const Val size = onnx.emit("Abs", {x});
  if (std::isinf(order)) return over_axes(order > 0 ? "ReduceMax" : "ReduceMin", size);
  if (order == 0) {
    const Val differs = onnx.emit("Not", {onnx.emit("Equal", {size, onnx.scalar(type, 0)})});
    return over_axes("ReduceSum", onnx.cast(differs, type));
  }
  const Val powers = onnx.emit("Pow", {size, onnx.scalar(type, order)});
  return onnx.emit("Pow", {over_axes("ReduceSum", powers), onnx.scalar(type, 1 / order)});
}

Val distance_of_rows(Call& call, Val x1, Val x2, double eps, double order, bool keeps) {
  auto& onnx = call.onnx;
  const Val gap = onnx.emit("Add", {onnx.emit("Sub", {x1, x2}), onnx.scalar(onnx.elem(x1), eps)});
  const auto rank = static_cast<std::int64_t>(call.rank(gap));
  if (rank == 0) {
    call.refuse("a distance between numbers");
    return gap;
  }
  return vector_norm(call, gap, {rank - 1}, keeps, order);
}

}  // namespace onnxkit::pt2
