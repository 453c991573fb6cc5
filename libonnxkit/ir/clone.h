#pragma once

#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"

// Deep copies of the graph that share bytes: text and weights of a copy are the same views as those of the original, so a copy
// costs the nodes and values, not the weights. The copy of a Model keeps alive what it views into and has a string pool of its
// own: original and copy may be changed in different threads. Copies of parts live as long as the model that they come from, or
// as long as one that `share_storage` let view into it.
namespace onnxkit::ir {

[[nodiscard]] Tensor clone(const Tensor& tensor);
[[nodiscard]] SparseTensor clone(const SparseTensor& sparse);
[[nodiscard]] Attribute clone(const Attribute& attribute);
[[nodiscard]] Node clone(const Node& node);
[[nodiscard]] ValueInfo clone(const ValueInfo& info);
/// Values keep their ids.
[[nodiscard]] Graph clone(const Graph& graph);
[[nodiscard]] Function clone(const Function& function);
[[nodiscard]] TrainingInfo clone(const TrainingInfo& training);
[[nodiscard]] Model clone(const Model& model);
/// With those of its functions that `is_kept` says.
[[nodiscard]] Model clone(const Model& model, const std::vector<bool>& is_kept);

/// Keeps the bytes of `from` alive as long as `to` lives, so that parts of `from` may be copied into `to`.
void share_storage(Model& to, const Model& from);
/// The same of many. One call of it, not one for each: what keeps the bytes alive is a chain as long as there were calls.
void share_storage(Model& to, std::span<const Model* const> from);

}  // namespace onnxkit::ir
