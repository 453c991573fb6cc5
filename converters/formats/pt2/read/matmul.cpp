// Products of matrices.
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

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

void map_addmv(Call& call) {
  call.result(
      scaled_sum(call, call.tensor("self"), call.onnx.emit("MatMul", {call.tensor("mat"), call.tensor("vec")})));
}

/// Each element of the first vector times each of the second.
Val outer_product(Call& call, Val a, Val b) { return call.onnx.emit("Mul", {call.onnx.unsqueeze(a, {1}), b}); }

/// Types are promoted, unlike those of products of matrices.
void map_addr(Call& call) {
  auto& onnx = call.onnx;
  const Val self = call.tensor("self");
  const ElementType type = promoted(promoted(call, "vec1", "vec2"), onnx.elem(self));
  const Val product = outer_product(call, call.number("vec1", type), call.number("vec2", type));
  call.result(scaled_sum(call, onnx.cast(self, type), product));
}

void map_outer(Call& call) {
  const Operands x = operands_of(call, "self", "vec2");
  call.result(outer_product(call, x.a, x.b));
}

/// The sum of the products over the batch.
void map_addbmm(Call& call) {
  auto& onnx = call.onnx;
  const Val products = onnx.emit("MatMul", {call.tensor("batch1"), call.tensor("batch2")});
  const Val sum = onnx.emit("ReduceSum", {products, onnx.integers({0})}, {{"keepdims", std::int64_t{0}}});
  call.result(scaled_sum(call, call.tensor("self"), sum));
}

void map_vecdot(Call& call) {
  auto& onnx = call.onnx;
  const Val product = onnx.emit("Mul", {call.tensor("x"), call.tensor("y")});
  const std::int64_t axis = call.axis("dim", -1, call.rank(product));
  call.result(onnx.emit("ReduceSum", {product, onnx.integers({axis})}, {{"keepdims", std::int64_t{0}}}));
}

void map_determinant(Call& call) { call.result(call.onnx.emit("Det", {call.tensor(call.has("A") ? "A" : "self")})); }

void map_einsum(Call& call) {
  std::string equation(call.text("equation"));
  std::erase(equation, ' ');
  call.result(call.onnx.emit("Einsum", call.tensors("tensors"), {{"equation", equation}}));
}

/// Sums over pairs of axes: a product of matrices, or an Einsum with a letter for each axis.
void map_tensordot(Call& call) {
  auto& onnx = call.onnx;
  const Val a = call.tensor("self"), b = call.tensor("other");
  const std::size_t rank_a = call.rank(a), rank_b = call.rank(b);
  const std::vector<std::int64_t> of_a = call.integers("dims_self"), of_b = call.integers("dims_other");
  if (of_a.size() != of_b.size()) return call.refuse("both operands have as many axes that are summed");
  if (rank_a + rank_b > 26) return call.refuse("there are too many axes");
  std::string letters_a(rank_a, ' '), letters_b(rank_b, ' ');
  char next = 'a';
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const auto axis_a = static_cast<std::size_t>(of_a[i] < 0 ? of_a[i] + static_cast<std::int64_t>(rank_a) : of_a[i]);
    const auto axis_b = static_cast<std::size_t>(of_b[i] < 0 ? of_b[i] + static_cast<std::int64_t>(rank_b) : of_b[i]);
    if (axis_a >= rank_a || axis_b >= rank_b || letters_a[axis_a] != ' ' || letters_b[axis_b] != ' ')
      return call.refuse("an axis that is not there, or twice");
    const auto size_a = onnx.size(a, axis_a), size_b = onnx.size(b, axis_b);
    if (size_a && size_b && *size_a != *size_b)
      return call.refuse("an axis of one element is summed with a longer one");
    letters_a[axis_a] = letters_b[axis_b] = next++;
    if (of_a.size() == 1 && axis_a + 1 == rank_a && rank_b == 2)
      return call.result(onnx.emit("MatMul", {a, axis_b == 0 ? b : onnx.transpose(b, {1, 0})}));
  }
  std::string result;
  for (std::string* letters : {&letters_a, &letters_b})
    for (char& letter : *letters)
      if (letter == ' ') result += letter = next++;
  call.result(onnx.emit("Einsum", {a, b}, {{"equation", letters_a + "," + letters_b + "->" + result}}));
}

}  // namespace

void register_matmul(Mappings& mappings);
void register_matmul(Mappings& mappings) {
  mappings.add("aten.linear.default", map_linear);
  mappings.add({"aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default",
                "aten.vdot.default"},
               map_matmul);
  mappings.add("aten.addmm.default", map_addmm);
  mappings.add("aten.baddbmm.default", map_baddbmm);
  mappings.add("aten.addmv.default", map_addmv);
  mappings.add("aten.addr.default", map_addr);
  mappings.add({"aten.outer.default", "aten.ger.default"}, map_outer);
  mappings.add("aten.addbmm.default", map_addbmm);
  mappings.add("aten.linalg_vecdot.default", map_vecdot);
  mappings.add({"aten.linalg_det.default", "aten.det.default"}, map_determinant);
  mappings.add("aten.einsum.default", map_einsum);
  mappings.add("aten.tensordot.default", map_tensordot);
}

}  // namespace onnxkit::pt2
