#include "checker/infer/input_types.h"

#include <string_view>
#include <unordered_map>

namespace onnxkit::checker {

std::vector<Type> input_types(const ir::Model& model, const std::vector<NamedValue>& inputs) {
  std::unordered_map<std::string_view, const Value*> by_name;
  for (const NamedValue& input : inputs) by_name.emplace(input.name, &input.value);
  std::vector<Type> types;
  for (const ir::ValueInfo& input : model.graph->inputs) {
    Type& type = types.emplace_back();
    const auto found = by_name.find(model.graph->name_of(input.value));
    if (found == by_name.end() || !found->second->is_tensor()) continue;
    const Tensor& tensor = found->second->tensor;
    type.kind = Type::Kind::tensor;
    type.elem = tensor.type();
    type.shape.emplace(tensor.dims().begin(), tensor.dims().end());
  }
  return types;
}

}  // namespace onnxkit::checker
