#include "libonnxkit/inputs/element_shape.h"

#include <set>
#include <span>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::inputs {
namespace {

using checker::InputRole;
using checker::Role;
using ir::ValueId;
using ElementSizes = std::vector<std::optional<std::int64_t>>;

class ElementShapeTracer {
 public:
  /// `opsets`: that the model imports.
  ElementShapeTracer(const spec::OpTable& table, std::span<const ir::OpsetImport> opsets,
                     const checker::InferredModel& inferred)
      : table_(table), opsets_(opsets), inferred_(inferred) {}

  std::optional<ElementSizes> found;

  void follow(const ir::Graph& graph, ValueId id) {
    if (found || id == ValueId::none || !seen_.insert({&graph, id}).second) return;
    for (const ir::Node& node : graph.nodes) {
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == id) read(graph, node, k);
      }
      ir::for_each_subgraph(node,
                            [&](const ir::Graph& inner, std::size_t) { follow(inner, inner.find(graph.name_of(id))); });
    }
  }

 private:
  void read(const ir::Graph& graph, const ir::Node& node, std::size_t input) {
    for (const InputRole& role : checker::traits_of(node, opsets_, table_).inputs) {
      if (role.input == input || role.input == checker::every_input) apply(role, graph, node, input);
    }
  }

  void apply(const InputRole& role, const ir::Graph& graph, const ir::Node& node, std::size_t input) {
    if (role.role == Role::like_input && role.other < node.inputs.size()) take(graph, node.inputs[role.other]);
    if (role.role == Role::like_output) take(graph, output_of(node));
    if (role.role == Role::joined) take_joined(graph, node);
    if (role.role == Role::mapped) {
      ir::for_each_subgraph(node, [&](const ir::Graph& body, std::size_t) {
        if (input < body.inputs.size()) take(body, body.inputs[input].value);
      });
    }
    if (role.role == Role::moved) follow(graph, output_of(node));
  }

  static ValueId output_of(const ir::Node& node) { return node.outputs.empty() ? ValueId::none : node.outputs[0]; }

  /// The joined tensors are as large together as the result along the axis that they are joined on.
  void take_joined(const ir::Graph& graph, const ir::Node& node) {
    const auto integer = [&](const char* name) -> std::int64_t {
      const ir::Attribute* attribute = node.find_attribute(name);
      const auto* number = attribute ? attribute->as<std::int64_t>() : nullptr;
      return number ? *number : 0;
    };
    std::optional<ElementSizes> joined = shape_of(graph, output_of(node));
    if (found || !joined || joined->empty()) return;
    const auto rank = static_cast<std::int64_t>(joined->size());
    const std::int64_t axis = integer("axis") < 0 ? integer("axis") + rank : integer("axis");
    if (axis < 0 || axis >= rank) return;
    if (integer("new_axis") != 0)
      joined->erase(joined->begin() + axis);
    else
      (*joined)[static_cast<std::size_t>(axis)].reset();
    found = std::move(joined);
  }

  void take(const ir::Graph& graph, ValueId id) {
    if (!found) found = shape_of(graph, id);
  }

  std::optional<ElementSizes> shape_of(const ir::Graph& graph, ValueId id) const {
    const checker::ValueInfo* info = id == ValueId::none ? nullptr : inferred_.find(graph, id);
    if (!info || !info->type.shape) return std::nullopt;
    ElementSizes sizes;
    for (const checker::Dim dim : *info->type.shape)
      sizes.push_back(dim.is_constant() ? std::optional(dim.constant()) : std::nullopt);
    return sizes;
  }

  const spec::OpTable& table_;
  const std::span<const ir::OpsetImport> opsets_;
  const checker::InferredModel& inferred_;
  std::set<std::pair<const ir::Graph*, ValueId>> seen_;
};

}  // namespace

std::optional<ElementSizes> element_shape_of_input(const ir::Model& model, const spec::OpTable& table,
                                                   const checker::InferredModel& inferred, ValueId input) {
  ElementShapeTracer tracer(table, model.opset_imports, inferred);
  tracer.follow(*model.graph, input);
  return std::move(tracer.found);
}

}  // namespace onnxkit::inputs
