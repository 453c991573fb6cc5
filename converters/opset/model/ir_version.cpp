#include "converters/opset/model/ir_version.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::opset {
namespace {

/// A part of a model and the IR version that brought it.
struct Need {
  std::int64_t version = 0;
  std::string what;
};

std::int64_t version_of_type(ElementType type) {
  switch (type) {
    case ElementType::bfloat16:
      return 4;
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
      return 9;
    case ElementType::uint4:
    case ElementType::int4:
      return 10;
    case ElementType::float4e2m1:
      return 11;
    case ElementType::float8e8m0:
      return 12;
    case ElementType::uint2:
    case ElementType::int2:
      return 13;
    case ElementType::float6e2m3:
    case ElementType::float6e3m2:
      return 14;
    default:
      return 1;
  }
}

bool only_initializers_that_are_inputs(const ir::Graph& graph) {
  std::set<std::string_view> inputs;
  for (const ir::ValueInfo& input : graph.inputs) inputs.insert(graph.name_of(input.value));
  return std::all_of(graph.initializers.begin(), graph.initializers.end(),
                     [&](const ir::Tensor& tensor) { return inputs.contains(tensor.name.view()); });
}

Need greatest_need(const ir::Model& model) {
  Need need;
  const auto raise = [&](std::int64_t version, const std::string& what) {
    if (version > need.version) need = {version, what};
  };
  if (!model.opset_imports.empty()) raise(3, "an opset import");
  for (const auto& scope : ir::graph_scopes(model)) {
    if (!only_initializers_that_are_inputs(*scope->graph)) raise(4, "an initializer that is not an input");
    if (!scope->graph->sparse_initializers.empty()) raise(5, "a sparse initializer");
    if (!scope->graph->metadata_props.empty()) raise(10, "metadata of a graph");
    for (const ir::Node& node : scope->graph->nodes) {
      if (!node.overload.empty()) raise(10, "an overload of a function");
      if (!node.metadata_props.empty()) raise(10, "metadata of a node");
      if (!node.device_configurations.empty()) raise(11, "a device configuration");
    }
  }
  if (!model.training_infos.empty()) raise(7, "training information");
  if (!model.functions.empty()) raise(8, "a function");
  ir::each_tensor(model, [&](const ir::Tensor& tensor, ir::TensorRole) {
    const ElementType type = ir::element_type_of(tensor);
    raise(version_of_type(type), fmt::format("a tensor of {}", name_of(type)));
  });
  return need;
}

}  // namespace

std::optional<Diagnostic> set_ir_version(ir::Model& model, std::optional<std::int64_t> wanted) {
  const Need need = greatest_need(model);
  Diagnostic finding;
  finding.code = "ir-version";
  if (wanted && (*wanted < 1 || *wanted > spec::newest_ir_version())) {
    finding.message = fmt::format("the IR version must be from 1 to {}, not {}", spec::newest_ir_version(), *wanted);
    return finding;
  }
  if (wanted && *wanted < need.version) {
    finding.message = fmt::format("IR version {} does not support {}, which was added in version {}", *wanted,
                                  need.what, need.version);
    return finding;
  }
  if (wanted) {
    model.ir_version = *wanted;
  } else if (model.ir_version.value_or(0) < 3 && need.version >= 3) {
    // Only what could not be said at all forces a newer version; a model that already breaks the rules of its own is left as it is.
    model.ir_version = 3;
  }
  return std::nullopt;
}

}  // namespace onnxkit::opset
