// Products of matrices.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void map_matmul(Call& call) {
  auto& onnx = call.onnx;
  const Val a = call.tensor("a"), b = call.tensor("b");
  const std::int64_t swaps_a = call.flag("transpose_a", false) ? 1 : 0,
                     swaps_b = call.flag("transpose_b", false) ? 1 : 0;
  if (swaps_a == 0 && swaps_b == 0 && !call.has("bias")) return call.result(onnx.emit("MatMul", {a, b}));
  std::vector<Val> inputs = {a, b};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  std::vector<ir::Attr> attributes;
  if (swaps_a != 0) attributes.push_back({"transA", swaps_a});
  if (swaps_b != 0) attributes.push_back({"transB", swaps_b});
  call.result(onnx.emit("Gemm", inputs, attributes));
}

void map_batch_matmul(Call& call) {
  Val x = call.tensor("x"), y = call.tensor("y");
  if (call.flag("adj_x", false)) x = foreign::with_last_axes_swapped(call, x);
  if (call.flag("adj_y", false)) y = foreign::with_last_axes_swapped(call, y);
  call.result(call.onnx.emit("MatMul", {x, y}));
}

void map_einsum(Call& call) {
  const std::string equation(call.text("equation"));
  call.result(call.onnx.emit("Einsum", call.tensors("inputs"), {{"equation", equation}}));
}

void map_cross(Call& call) {
  auto& onnx = call.onnx;
  const Val a = call.tensor("a"), b = call.tensor("b");
  const auto turned = [&](Val value, std::int64_t first, std::int64_t second) {
    return onnx.emit("Gather", {value, onnx.integers({first, second, 3 - first - second})},
                     {{"axis", std::int64_t{-1}}});
  };
  const Val left = onnx.emit("Mul", {turned(a, 1, 2), turned(b, 2, 0)});
  const Val right = onnx.emit("Mul", {turned(a, 2, 0), turned(b, 1, 2)});
  call.result(onnx.emit("Sub", {left, right}));
}

void map_determinant(Call& call) { call.result(call.onnx.emit("Det", {call.tensor("input")})); }

}  // namespace

void register_matmul(Mappings& mappings);
void register_matmul(Mappings& mappings) {
  mappings.add("MatMul", {"a", "b"}, map_matmul);
  mappings.add_all({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}, {"x", "y"}, map_batch_matmul);
  mappings.add("Einsum", {"inputs..."}, map_einsum);
  mappings.add("Cross", {"a", "b"}, map_cross);
  mappings.add("MatrixDeterminant", {"input"}, map_determinant);
}

}  // namespace onnxkit::saved_model
