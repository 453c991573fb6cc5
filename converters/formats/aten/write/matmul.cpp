// Products of matrices.
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

void map_matmul(WriteCall& call) {
  const ValueId a = call.input(0), b = call.input(1);
  call.result(binary(call, "aten.matmul.default", a, b, call.output_type()));
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

/// com.microsoft: axes of both factors in other orders, and a factor.
void map_fused_matmul(WriteCall& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0)
    return call.refuse("it moves the batches behind the rows");
  const auto turned = [&](std::size_t input, std::string_view attribute) {
    Type type = call.type(input);
    if (call.integer(attribute, 0) == 0 || (type.shape && type.shape->size() < 2)) return call.input(input);
    if (type.shape) std::swap((*type.shape)[type.shape->size() - 1], (*type.shape)[type.shape->size() - 2]);
    return call.emit("aten.transpose.int", {{"self", call.input(input)}, {"dim0", Int{-2}}, {"dim1", Int{-1}}}, type);
  };
  const ValueId a = turned(0, "transA"), b = turned(1, "transB");
  const ValueId product = binary(call, "aten.matmul.default", a, b, call.output_type());
  const double alpha = call.real("alpha", 1);
  call.result(alpha == 1 ? product : multiply_number(call, product, alpha));
}

/// com.microsoft
void map_inverse(WriteCall& call) {
  call.result(call.emit("aten.linalg_inv.default", {{"A", call.input(0)}}, call.output_type()));
}

/// PyTorch 1.8 takes small letters only. Their order, which an equation without "->" goes by, stays.
std::string in_small_letters(std::string equation) {
  std::set<char> letters;
  for (const char c : equation)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) letters.insert(c);
  constexpr std::size_t most = 26;
  if (letters.size() > most || letters.empty() || *letters.begin() >= 'a') return equation;
  for (char& c : equation)
    if (letters.contains(c)) c = static_cast<char>('a' + std::distance(letters.begin(), letters.find(c)));
  return equation;
}

void map_einsum(WriteCall& call) {
  std::string equation;
  for (const char c : call.text("equation"))
    if (c != ' ') equation += c;
  equation = in_small_letters(std::move(equation));
  call.result(call.emit("aten.einsum.default", {{"equation", call.keep(equation)}, {"tensors", call.inputs()}},
                        call.output_type()));
}

void map_det(WriteCall& call) {
  call.result(call.emit("aten.linalg_det.default", {{"A", call.input(0)}}, call.output_type()));
}

/// Sums, means or the terms themselves.
Int reduction_number(WriteCall& call) {
  const std::string_view reduction = call.text("reduction", "mean");
  return reduction == "none" ? 0 : reduction == "mean" ? 1 : 2;
}

/// No class has a number that is less than all others, so that none is ignored.
constexpr Int no_class = -100;

void map_negative_log_likelihood(WriteCall& call) {
  call.result(call.emit("aten.nll_loss_nd.default",
                        {{"self", call.input(0)},
                         {"target", cast(call, call.input(1), ElementType::int64)},
                         {"weight", call.input(2)},
                         {"reduction", reduction_number(call)},
                         {"ignore_index", call.integer("ignore_index", no_class)}},
                        call.output_type()));
}

void map_softmax_cross_entropy(WriteCall& call) {
  const ValueId logarithm = call.emit("aten.log_softmax.int", {{"self", call.input(0)}, {"dim", Int{1}}}, call.type(0));
  const ValueId loss = call.emit("aten.nll_loss_nd.default",
                                 {{"self", logarithm},
                                  {"target", cast(call, call.input(1), ElementType::int64)},
                                  {"weight", call.input(2)},
                                  {"reduction", reduction_number(call)},
                                  {"ignore_index", call.integer("ignore_index", no_class)}},
                                 call.output_type());
  call.results({loss, logarithm});
}

}  // namespace

void register_matmul(Writers& writers);
void register_matmul(Writers& writers) {
  writers.add("MatMul", map_matmul);
  writers.add("Gemm", map_gemm);
  writers.add("Einsum", map_einsum);
  writers.add("Det", map_det);
  writers.add({"com.microsoft::FusedMatMul", "com.microsoft::TransposeMatMul"}, map_fused_matmul);
  writers.add("com.microsoft::Inverse", map_inverse);
  writers.add("NegativeLogLikelihoodLoss", map_negative_log_likelihood);
  writers.add("SoftmaxCrossEntropyLoss", map_softmax_cross_entropy);
}

}  // namespace onnxkit::aten
