#include "libonnxkit/plan/sized_model.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/plan/values_by_name.h"

namespace onnxkit::plan {
namespace {

ir::DeclaredType declared_type(ir::Model& model, const Value& value) {
  ir::DeclaredType type;
  using TypeKind = ir::DeclaredType::Kind;
  if (value.kind == ValueKind::tensor) {
    type.kind = TypeKind::tensor;
    type.elem_type = static_cast<std::int32_t>(value.tensor.type());
    type.shape.emplace();
    for (const std::int64_t size : value.tensor.dims()) type.shape->dims.emplace_back().value = size;
    return type;
  }
  type.kind = value.kind == ValueKind::optional ? TypeKind::optional
              : value.kind == ValueKind::map    ? TypeKind::map
                                                : TypeKind::sequence;
  if (value.kind == ValueKind::map) type.key_type = static_cast<std::int32_t>(value.tensor.type());
  ir::DeclaredType element;
  if (!value.items.empty()) {
    element = declared_type(model, value.items.front());
    if (element.shape && value.kind == ValueKind::sequence) element.shape.reset();
  } else {
    element.kind = TypeKind::tensor;
    element.elem_type = static_cast<std::int32_t>(value.declared);
  }
  type.element = std::make_unique<ir::DeclaredType>(std::move(element));
  return type;
}

/// Of a list or an optional value without items the declaration tells what could be in it.
bool says_more(const ir::ValueInfo& input, const Value& value) {
  using TypeKind = ir::DeclaredType::Kind;
  if (!value.items.empty() || !input.type || !input.type->element) return false;
  return (value.kind == ValueKind::sequence && input.type->kind == TypeKind::sequence) ||
         (value.kind == ValueKind::optional && input.type->kind == TypeKind::optional);
}

bool is_small_integer(const Value& value) {
  constexpr std::int64_t most = 64;
  return value.is_tensor() && value.tensor.size() <= most &&
         (value.tensor.type() == ElementType::int64 || value.tensor.type() == ElementType::int32 ||
          value.tensor.type() == ElementType::boolean);
}

}  // namespace

Result<ir::Model> sized_model(const ir::Model& model, std::span<const NamedValue> inputs, bool fixes_small_inputs) {
  ir::Model copy = ir::clone(model);
  ir::Graph& graph = *copy.graph;
  std::vector<ir::ValueInfo> kept;
  const ir::InitializerTable stored(graph);
  std::vector<ir::Tensor> fixed;
  ir::Patch patch(graph);
  const ValuesByName by_name(inputs);
  for (ir::ValueInfo& input : graph.inputs) {
    if (input.value == ir::ValueId::none) continue;  // of a model that is not valid: no node can read it
    const Value* const given = by_name.find(graph.name_of(input.value));
    const bool is_given = given && given->kind != ValueKind::none;
    if (!is_given && stored.contains(input.value)) continue;
    if (is_given && stored.contains(input.value)) patch.drop_initializer(input.value);
    if (is_given && fixes_small_inputs && is_small_integer(*given)) {
      const Tensor& content = given->tensor;
      fixed.push_back(ir::make_tensor(copy, content.type(), content.dims(), content.bytes()));
      fixed.back().name = graph.values[ir::index_of(input.value)].name;
      continue;
    }
    ir::ValueInfo changed = ir::clone(input);
    if (is_given && !says_more(input, *given)) changed.type = declared_type(copy, *given);
    kept.push_back(std::move(changed));
  }
  ir::splice(graph, std::move(patch));
  graph.inputs = std::move(kept);
  for (ir::Tensor& tensor : fixed) graph.initializers.push_back(std::move(tensor));
  // Sizes that the file declares are those of any input; inference finds those of these.
  graph.value_infos.clear();
  for (ir::ValueInfo& output : graph.outputs) {
    if (output.type && output.type->kind == ir::DeclaredType::Kind::tensor) output.type->shape.reset();
  }
  return copy;
}

bool drop_sizes_of_bodies(ir::Model& model) {
  bool has_any = false;
  const auto drop = [&](std::span<ir::ValueInfo> ports) {
    for (ir::ValueInfo& port : ports) {
      if (!port.type || port.type->kind != ir::DeclaredType::Kind::tensor) continue;
      has_any = has_any || port.type->shape;
      port.type->shape.reset();
    }
  };
  constexpr std::size_t counters = 2;  // of a Loop: number of the pass and condition, whose rank counts
  const auto scopes = ir::graph_scopes(model);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    if (!scopes[i]->parent) continue;
    const ir::Node& node = scopes[i]->parent->graph->nodes[scopes[i]->parent_node];
    const std::size_t kept = node.op_type == "Loop" ? std::min(counters, graphs[i]->inputs.size()) : 0;
    drop(std::span(graphs[i]->inputs).subspan(kept));
    drop(graphs[i]->outputs);
    has_any = has_any || !graphs[i]->value_infos.empty();
    graphs[i]->value_infos.clear();
  }
  return has_any;
}

}  // namespace onnxkit::plan
