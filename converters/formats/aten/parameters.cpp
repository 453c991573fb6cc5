#include "converters/formats/aten/parameters.h"

#include "onnxkit/element_type.h"

namespace onnxkit::aten {

std::vector<bool> are_parameters(const foreign::Graph& graph) {
  std::vector<bool> is_statistic(graph.values.size(), false);
  for (const foreign::Node& node : graph.nodes)
    for (const std::string_view name : {"running_mean", "running_var"})
      if (const foreign::Argument* given = node.find(name))
        if (const auto* value = given->as<foreign::ValueId>(); value && *value != foreign::ValueId::none)
          is_statistic[index_of(*value)] = true;
  std::vector<bool> result;
  for (const foreign::Tensor& tensor : graph.tensors) {
    const bool is_real =
        is_floating(tensor.elem) || tensor.elem == ElementType::complex64 || tensor.elem == ElementType::complex128;
    result.push_back(is_real && !tensor.is_constant && !is_statistic[index_of(tensor.value)]);
  }
  return result;
}

}  // namespace onnxkit::aten
