#include "libonnxkit/exec/value_desc.h"

#include <fmt/core.h>

namespace onnxkit::exec {
namespace {

ValueDesc describe(const ir::Graph& graph, const ir::ValueInfo& info) {
  ValueDesc desc;
  desc.name = graph.name_of(info.value);
  desc.kind = kind_of(info);
  if (info.type) desc.type = static_cast<ElementType>(info.type->elem_type.value_or(0));
  if (info.type && info.type->shape) {
    desc.has_shape = true;
    for (const ir::DeclaredDim& dim : info.type->shape->dims) desc.dims.push_back(dim.size().value_or(-1));
  }
  return desc;
}

}  // namespace

std::vector<ValueDesc> describe_inputs(const ir::Graph& graph) {
  const auto defaults = default_names(graph);
  std::vector<ValueDesc> inputs;
  for (const ir::ValueInfo& info : graph.inputs) {
    inputs.push_back(describe(graph, info));
    inputs.back().optional = defaults.contains(inputs.back().name);
  }
  return inputs;
}

std::vector<ValueDesc> describe_outputs(const ir::Graph& graph) {
  std::vector<ValueDesc> outputs;
  for (const ir::ValueInfo& info : graph.outputs) outputs.push_back(describe(graph, info));
  return outputs;
}

std::set<std::string_view> default_names(const ir::Graph& graph) {
  std::set<std::string_view> names;
  for (const ir::Tensor& tensor : graph.initializers) names.insert(tensor.name.view());
  for (const ir::SparseTensor& sparse : graph.sparse_initializers) {
    if (sparse.values) names.insert(sparse.values->name.view());
  }
  return names;
}

ValueKind kind_of(const ir::DeclaredType& type) {
  using Kind = ir::DeclaredType::Kind;
  switch (type.kind) {
    case Kind::sequence:
      return ValueKind::sequence;
    case Kind::optional:
      return ValueKind::optional;
    case Kind::map:
      return ValueKind::map;
    case Kind::tensor:
    case Kind::sparse_tensor:
      return ValueKind::tensor;
    default:
      return ValueKind::none;
  }
}

ValueKind kind_of(const ir::ValueInfo& declared) { return declared.type ? kind_of(*declared.type) : ValueKind::none; }

ValueKind stored_kind_of(const ir::ValueInfo& declared) {
  const ValueKind kind = kind_of(declared);
  return kind == ValueKind::none ? ValueKind::tensor : kind;
}

Error input_error(ErrorCode code, const ir::Graph& graph, std::size_t index, std::string message) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.location.scope = {"main"};
  error.diagnostic.location.item = fmt::format("input {}", index);
  error.diagnostic.location.item_name = graph.name_of(graph.inputs[index].value);
  return error;
}

}  // namespace onnxkit::exec
