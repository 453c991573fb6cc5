#pragma once

#include <vector>

#include "reference/executor/kernel.h"

// What Gradient needs to know of operators: each is registered with the kernel of its operator.
namespace onnxkit::reference {

/// A node to be differentiated, and the derivative by its output.
struct DerivativeStep {
  const KernelContext& context;
  const TracedNode& node;
  spec::NodeAttributes attributes;
  Tensor dy;

  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].is_tensor(); }
  const Tensor& x(std::size_t i = 0) const {
    require(has(i), "an input on the path is not a tensor");
    return node.inputs[i].tensor;
  }
  const Tensor& y() const { return node.outputs[0].tensor; }
};

/// One derivative for each input; a tensor without type where there is none.
namespace derivative {

std::vector<Tensor> abs(const DerivativeStep& step);
std::vector<Tensor> add(const DerivativeStep& step);
std::vector<Tensor> clip(const DerivativeStep& step);
std::vector<Tensor> concat(const DerivativeStep& step);
std::vector<Tensor> cos(const DerivativeStep& step);
std::vector<Tensor> cosh(const DerivativeStep& step);
std::vector<Tensor> div(const DerivativeStep& step);
std::vector<Tensor> elu(const DerivativeStep& step);
std::vector<Tensor> erf(const DerivativeStep& step);
std::vector<Tensor> exp(const DerivativeStep& step);
std::vector<Tensor> expand(const DerivativeStep& step);
/// To the inputs that are the extreme, in equal shares.
std::vector<Tensor> extreme(const DerivativeStep& step);
std::vector<Tensor> gelu(const DerivativeStep& step);
std::vector<Tensor> gemm(const DerivativeStep& step);
std::vector<Tensor> leaky_relu(const DerivativeStep& step);
std::vector<Tensor> log(const DerivativeStep& step);
std::vector<Tensor> log_softmax(const DerivativeStep& step);
std::vector<Tensor> matmul(const DerivativeStep& step);
std::vector<Tensor> mean(const DerivativeStep& step);
std::vector<Tensor> mul(const DerivativeStep& step);
std::vector<Tensor> neg(const DerivativeStep& step);
std::vector<Tensor> pow(const DerivativeStep& step);
std::vector<Tensor> reciprocal(const DerivativeStep& step);
std::vector<Tensor> reduce_mean(const DerivativeStep& step);
std::vector<Tensor> reduce_sum(const DerivativeStep& step);
std::vector<Tensor> relu(const DerivativeStep& step);
/// Of operators that keep the elements in order.
std::vector<Tensor> same_elements(const DerivativeStep& step);
std::vector<Tensor> sigmoid(const DerivativeStep& step);
std::vector<Tensor> sin(const DerivativeStep& step);
std::vector<Tensor> sinh(const DerivativeStep& step);
std::vector<Tensor> softmax(const DerivativeStep& step);
std::vector<Tensor> softplus(const DerivativeStep& step);
std::vector<Tensor> softsign(const DerivativeStep& step);
std::vector<Tensor> sqrt(const DerivativeStep& step);
std::vector<Tensor> sub(const DerivativeStep& step);
std::vector<Tensor> sum(const DerivativeStep& step);
std::vector<Tensor> tan(const DerivativeStep& step);
std::vector<Tensor> tanh(const DerivativeStep& step);
std::vector<Tensor> transpose(const DerivativeStep& step);
std::vector<Tensor> where(const DerivativeStep& step);

}  // namespace derivative
}  // namespace onnxkit::reference
