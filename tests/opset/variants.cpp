#include "tests/opset/variants.h"

#include <string>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/packed.h"

namespace onnxkit::opset_matrix {
namespace {

ir::Tensor stored(ir::Model& model, const Tensor& tensor, std::string_view name) {
  ir::Tensor out;
  out.dims = tensor.dims();
  out.data_type = static_cast<std::int32_t>(tensor.type());
  out.name = model.keep(name);
  if (tensor.type() == ElementType::string) {
    for (const std::string& text : tensor.strings()) out.string_data.push_back(model.keep(text));
  } else {
    const auto bytes = tensor.bytes();
    out.raw_data = model.keep({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return out;
}

bool make_constants(ir::Model& model, std::vector<official::DataSet>& sets, bool as_nodes) {
  ir::Graph& graph = *model.graph;
  if (sets.size() != 1 || graph.inputs.size() < 2) return false;
  std::vector<ir::ValueInfo> inputs;
  std::vector<Value> values;
  std::vector<ir::Node> nodes;
  bool any = false;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = sets[0].inputs[i];
    if (i == 0 || value.kind != ValueKind::tensor) {
      inputs.push_back(std::move(graph.inputs[i]));
      values.push_back(value);
      continue;
    }
    any = true;
    const ir::ValueId id = graph.inputs[i].value;
    ir::Tensor tensor = stored(model, value.tensor, graph.name_of(id));
    if (!as_nodes) {
      graph.initializers.push_back(std::move(tensor));
      continue;
    }
    ir::Node node;
    node.op_type = "Constant";
    node.outputs = {id};
    tensor.name = {};
    ir::Attribute attribute;
    attribute.name = "value";
    attribute.payload = std::make_unique<ir::Tensor>(std::move(tensor));
    attribute.type = ir::attribute_type_of(attribute.payload);
    node.attributes.push_back(std::move(attribute));
    nodes.push_back(std::move(node));
  }
  graph.inputs = std::move(inputs);
  sets[0].inputs = std::move(values);
  for (ir::Node& node : graph.nodes) nodes.push_back(std::move(node));
  graph.nodes = std::move(nodes);
  // Initializers that are no inputs need IR version 4.
  if (!as_nodes && model.ir_version.value_or(0) < 4) model.ir_version = 4;
  return any;
}

bool compute_inputs(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  std::vector<ir::Node> nodes;
  for (ir::ValueInfo& input : graph.inputs) {
    const std::string name = fmt::format("{}_from_caller", graph.name_of(input.value));
    if (graph.find(name) != ir::ValueId::none) return false;
    if (input.type && input.type->kind != ir::DeclaredType::Kind::tensor) continue;
    ir::Node node;
    node.op_type = "Identity";
    node.outputs = {input.value};
    input.value = graph.intern(model.keep(name));
    node.inputs = {input.value};
    nodes.push_back(std::move(node));
  }
  const bool any = !nodes.empty();
  for (ir::Node& node : graph.nodes) nodes.push_back(std::move(node));
  graph.nodes = std::move(nodes);
  return any;
}

template <class Change>
bool change_shapes(ir::Graph& graph, Change change) {
  bool any = false;
  for (auto* infos : {&graph.inputs, &graph.value_infos, &graph.outputs}) {
    for (ir::ValueInfo& info : *infos) {
      if (!info.type || !info.type->shape) continue;
      any = true;
      change(info, infos == &graph.inputs);
    }
  }
  return any;
}

bool state_sizes(ir::Graph& graph, const std::vector<official::DataSet>& sets) {
  bool any = false;
  for (std::size_t i = 0; sets.size() == 1 && i < graph.inputs.size(); ++i) {
    ir::ValueInfo& info = graph.inputs[i];
    const Value& value = sets[0].inputs[i];
    if (!info.type || value.kind != ValueKind::tensor || info.type->kind != ir::DeclaredType::Kind::tensor) continue;
    info.type->shape.emplace();
    for (const std::int64_t size : value.tensor.dims()) {
      ir::DeclaredDim dim;
      dim.value = size;
      info.type->shape->dims.push_back(std::move(dim));
    }
    any = true;
  }
  return any;
}

}  // namespace

std::string_view name_of(Variant variant) {
  constexpr std::string_view names[] = {"as is",    "initializers", "constant nodes", "computed",
                                        "symbolic", "open shapes",  "all known"};
  return names[static_cast<std::size_t>(variant)];
}

bool vary(ir::Model& model, std::vector<official::DataSet>& sets, Variant variant) {
  switch (variant) {
    case Variant::as_is:
      return true;
    case Variant::initializers:
      return make_constants(model, sets, false);
    case Variant::constant_nodes:
      return make_constants(model, sets, true);
    case Variant::computed:
      return compute_inputs(model);
    case Variant::symbolic:
      return change_shapes(*model.graph, [&](ir::ValueInfo& info, bool is_input) {
        if (!is_input) return info.type->shape.reset();
        for (std::size_t axis = 0; axis < info.type->shape->dims.size(); ++axis) {
          ir::DeclaredDim& dim = info.type->shape->dims[axis];
          dim.value.reset();
          dim.param = model.keep(fmt::format("{}_{}", model.graph->name_of(info.value), axis));
        }
      });
    case Variant::open_shapes:
      return change_shapes(*model.graph, [](ir::ValueInfo& info, bool) { info.type->shape.reset(); });
    case Variant::all_known:
      return state_sizes(*model.graph, sets) && (model.graph->inputs.size() < 2 || make_constants(model, sets, false));
  }
  return false;
}

}  // namespace onnxkit::opset_matrix
