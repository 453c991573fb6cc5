#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libonnxkit/exec/plan.h"
#include "reference/executor/tensor.h"

namespace onnxkit::reference {

/// Constants of a model as kernels take them, kept from run to run: first come, first kept, while there is room.
class ConstantCache {
 public:
  explicit ConstantCache(std::uint64_t room) : room_(room) {}

  /// `key`: what the model holds, such as a weight or a node. Null when it is not kept.
  const Tensor* find(const void* key) const;
  void keep(const void* key, const Tensor& tensor);

 private:
  std::uint64_t room_;
  std::unordered_map<const void*, Tensor> tensors_;
};

/// The nodes, by index, that give the same tensor in every run that is given no initializer: Constant, and ConstantOfShape of a constant.
std::vector<bool> constant_nodes(const ir::Graph& graph, const exec::GraphPlan& plan);

}  // namespace onnxkit::reference
