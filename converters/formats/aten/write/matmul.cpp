// Products of matrices.
#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

void map_matmul(WriteCall& call) {
  call.result(binary(call, "aten.matmul.default", call.input(0), call.input(1), call.output_type()));
}

ValueId transposed(WriteCall& call, ValueId x) {
  Type type = call.type_of(x);
  if (type.shape && type.shape->size() == 2) std::swap((*type.shape)[0], (*type.shape)[1]);
  return call.emit("aten.t.default", {{"self", x}}, std::move(type));
}

/// A linear layer where it is one: alpha and beta are 1 and the second factor is stored with its outputs first.
void map_gemm(WriteCall& call) {
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const bool transposes_b = call.integer("transB", 0) != 0;
  ValueId a = call.input(0);
  if (call.integer("transA", 0) != 0) a = transposed(call, a);
  const bool is_vector = call.shape(2) && call.shape(2)->size() == 1 && call.shape(1) &&
                         (*call.shape(2))[0] == (*call.shape(1))[transposes_b ? 0 : 1];
  if (transposes_b && alpha == 1 && (!call.has(2) || (beta == 1 && is_vector)))
    return call.result(call.emit(
        "aten.linear.default", {{"input", a}, {"weight", call.input(1)}, {"bias", call.input(2)}}, call.output_type()));
  const ValueId b = transposes_b ? transposed(call, call.input(1)) : call.input(1);
  ValueId product = binary(call, "aten.matmul.default", a, b, call.output_type());
  if (alpha != 1) product = multiply_number(call, product, alpha);
  if (!call.has(2) || beta == 0) return call.result(product);
  const ValueId c = beta == 1 ? call.input(2) : multiply_number(call, call.input(2), beta);
  call.result(binary(call, "aten.add.Tensor", product, c, call.output_type()));
}

}  // namespace

void register_matmul(Writers& writers);
void register_matmul(Writers& writers) {
  writers.add("MatMul", map_matmul);
  writers.add("Gemm", map_gemm);
}

}  // namespace onnxkit::aten
