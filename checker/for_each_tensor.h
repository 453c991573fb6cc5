#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checker/rule_registry.h"

namespace onnxkit::checker {

/// Where a tensor is; spelt out only for a finding.
struct TensorLocation {
  const RuleContext& context;
  const ir::GraphScope* scope = nullptr;
  const ir::Function* function = nullptr;  ///< instead of a scope: a default of this function's attributes
  std::optional<std::size_t> node = {};    ///< none for initializers
  std::string_view name;                   ///< of the initializer or the attribute

  operator Location() const {
    if (!function && !node) return context.at(*scope, "initializer", name);
    std::string item = "attribute " + std::string(name);
    return function ? context.at_function(*function, std::move(item)) : context.at(*scope, *node, std::move(item));
  }
};

/// Calls visit(const ir::Tensor&, const TensorLocation&) for every tensor of the model: initializers and tensor attributes of all graphs, the
/// parts of sparse tensors left out. visit_sparse(const ir::SparseTensor&, const TensorLocation&) gets those.
template <class Visit, class VisitSparse>
void for_each_tensor(const RuleContext& context, Visit&& visit, VisitSparse&& visit_sparse) {
  const auto visit_attribute = [&](const ir::Attribute& attribute, const TensorLocation& location) {
    if (const ir::Tensor* tensor = attribute.tensor()) visit(*tensor, location);
    if (const auto* many = attribute.as<std::vector<ir::Tensor>>()) {
      for (const ir::Tensor& tensor : *many) visit(tensor, location);
    }
    if (const auto* sparse = attribute.as<std::unique_ptr<ir::SparseTensor>>()) visit_sparse(**sparse, location);
    if (const auto* many = attribute.as<std::vector<ir::SparseTensor>>()) {
      for (const ir::SparseTensor& sparse : *many) visit_sparse(sparse, location);
    }
  };
  for (const auto& scope : context.scopes) {
    const ir::Graph& graph = *scope->graph;
    for (const ir::Tensor& tensor : graph.initializers)
      visit(tensor, TensorLocation{.context = context, .scope = scope.get(), .name = tensor.name});
    for (const ir::SparseTensor& sparse : graph.sparse_initializers) {
      const std::string_view name = sparse.values ? sparse.values->name.view() : std::string_view();
      visit_sparse(sparse, TensorLocation{.context = context, .scope = scope.get(), .name = name});
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ir::Attribute& attribute : graph.nodes[n].attributes)
        visit_attribute(attribute, {.context = context, .scope = scope.get(), .node = n, .name = attribute.name});
    }
  }
  for (const ir::Function& function : context.model.functions) {
    for (const ir::Attribute& attribute : function.attribute_protos)
      visit_attribute(attribute, {.context = context, .function = &function, .name = attribute.name});
  }
}

}  // namespace onnxkit::checker
