#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/ir/scope.h"

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::spec {

FunctionIndex::FunctionIndex(const ir::Model& model) {
  for (const ir::Function& function : model.functions) {
    functions_.try_emplace({ir::canonical_domain(function.domain), function.name.view(), function.overload.view()},
                           &function);
  }
}

const ir::Function* FunctionIndex::find(const ir::Node& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find({ir::canonical_domain(node.domain), node.op_type.view(), node.overload.view()});
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace onnxkit::spec
