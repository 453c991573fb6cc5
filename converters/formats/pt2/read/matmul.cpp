// Products of matrices.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// x W^T + b, for x of any rank. The weight keeps its place in the file.
void map_linear(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input"), weight = call.tensor("weight"), bias = call.tensor("bias");
  if (onnx.rank(x) == 2 && onnx.rank(weight) == 2) {
    const std::vector<Val> operands = bias ? std::vector{x, weight, bias} : std::vector{x, weight};
    return call.result(onnx.emit("Gemm", operands, {{"transB", std::int64_t{1}}}));
  }
  const Val turned = call.rank(weight) == 2 ? onnx.transpose(weight, {1, 0}) : weight;
  const Val product = onnx.emit("MatMul", {x, turned});
  call.result(bias ? onnx.emit("Add", {product, bias}) : product);
}

void map_matmul(Call& call) {
  const Val a = call.tensor("self");
  const Val b = call.tensor(call.has("mat2")     ? "mat2"
                            : call.has("vec")    ? "vec"
                            : call.has("tensor") ? "tensor"
                                                 : "other");
  call.result(call.onnx.emit("MatMul", {a, b}));
}

/// beta * self + alpha * a b; a factor of 1 is left out.
Val scaled_sum(Call& call, Val self, Val product) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(product);
  if (call.real("alpha", 1) != 1) product = onnx.emit("Mul", {product, call.number("alpha", type)});
  if (call.real("beta", 1) != 1) self = onnx.emit("Mul", {self, call.number("beta", type)});
  return onnx.emit("Add", {product, self});
}

void map_addmm(Call& call) {
  auto& onnx = call.onnx;
  const Val self = call.tensor("self"), a = call.tensor("mat1"), b = call.tensor("mat2");
  const ElementType type = onnx.elem(a);
  if (type != ElementType::float32 && type != ElementType::float64 && type != ElementType::float16)
    return call.result(scaled_sum(call, self, onnx.emit("MatMul", {a, b})));
  std::vector<ir::Attr> factors;
  if (call.real("alpha", 1) != 1) factors.push_back({"alpha", static_cast<float>(call.real("alpha", 1))});
  if (call.real("beta", 1) != 1) factors.push_back({"beta", static_cast<float>(call.real("beta", 1))});
  call.result(onnx.emit("Gemm", {a, b, self}, factors));
}

void map_baddbmm(Call& call) {
  call.result(
      scaled_sum(call, call.tensor("self"), call.onnx.emit("MatMul", {call.tensor("batch1"), call.tensor("batch2")})));
}

void map_einsum(Call& call) {
  std::string equation(call.text("equation"));
  std::erase(equation, ' ');
  call.result(call.onnx.emit("Einsum", call.tensors("tensors"), {{"equation", equation}}));
}

}  // namespace

void register_matmul(Mappings& mappings);
void register_matmul(Mappings& mappings) {
  mappings.add("aten.linear.default", map_linear);
  mappings.add({"aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default"},
               map_matmul);
  mappings.add("aten.addmm.default", map_addmm);
  mappings.add("aten.baddbmm.default", map_baddbmm);
  mappings.add("aten.einsum.default", map_einsum);
}

}  // namespace onnxkit::pt2
