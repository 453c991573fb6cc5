#include "converters/foreign/state.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace onnxkit::foreign {
namespace {

/// A name that no input or output has yet, beginning with `stem`.
std::string_view free_name(Model& model, std::string_view stem) {
  std::set<std::string_view> taken;
  for (const ValueId input : model.graph.inputs) taken.insert(model.graph.name_of(input));
  for (const Output& output : model.graph.outputs) taken.insert(output.name);
  std::string name(stem);
  for (int i = 2; taken.contains(name); ++i) name = fmt::format("{}_{}", stem, i);
  return model.strings->keep(name).view();
}

TensorType stored_type(const Tensor& tensor) {
  TensorType type;
  type.elem = tensor.elem;
  type.shape.emplace();
  for (const std::int64_t dim : tensor.dims) type.shape->push_back({.constant = dim});
  return type;
}

}  // namespace

void expose_changes(Model& model, const std::vector<Written>& changes) {
  std::string names;
  for (const Written& change : changes) {
    const auto tensor = std::find_if(model.graph.tensors.begin(), model.graph.tensors.end(),
                                     [&](const Tensor& one) { return one.value == change.input; });
    if (tensor != model.graph.tensors.end()) {
      Value& input = model.graph.values[index_of(change.input)];
      input.name = free_name(model, tensor->name);
      if (!input.type) input.type = stored_type(*tensor);
      model.graph.inputs.push_back(change.input);
    }
    const std::string_view name = model.graph.name_of(change.input);
    names += fmt::format("{}{}", names.empty() ? "" : ",", name);
    model.graph.outputs.push_back({change.content, free_name(model, fmt::format("{}.next", name))});
  }
  if (!names.empty()) model.metadata.emplace_back("source_changes", model.strings->keep(names).view());
}

}  // namespace onnxkit::foreign
