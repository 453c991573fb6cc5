#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "onnxkit/inspect.h"

namespace onnxkit::checker {

/// How many elements of each tensor are looked at, so that a model with many weights takes no longer than one with few.
class SampleBudget {
 public:
  /// Shares a fixed number of elements among tensors of these sizes: small ones are read as a whole, large ones get what is left in equal
  /// parts, never fewer than 512 elements.
  explicit SampleBudget(std::vector<std::uint64_t> sizes);
  std::uint64_t most() const { return most_; }

 private:
  std::uint64_t most_ = 0;
};

/// Name, type, shape and size; without values.
TensorSummary outline_of(const ir::Tensor& tensor);
TensorSummary outline_of(const ir::SparseTensor& sparse);

/// Adds what the elements of a tensor are: the first of them, or all when they are at most `all`, and the statistics of `most`.
void add_values(TensorSummary& summary, const ir::Tensor& tensor, const ir::ExternalBytes& external, std::uint64_t most,
                std::size_t all);

/// What the attributes of a Constant hold; without values when `most` is 0. nullopt when none holds any.
std::optional<TensorSummary> constant_of(const ir::Node& node, const ir::ExternalBytes& external, std::uint64_t most);

}  // namespace onnxkit::checker
