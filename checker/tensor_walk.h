#pragma once

#include "checker/rule_registry.h"

namespace onnxkit::checker {

/// Calls visit(const ir::Tensor&, Place) for every tensor of the model: initializers and tensor attributes of all graphs, the parts of
/// sparse tensors left out. visit_sparse(const ir::SparseTensor&, Place) gets those.
template <class Visit, class VisitSparse>
void for_each_tensor(const RuleContext& context, Visit&& visit, VisitSparse&& visit_sparse) {
  const auto walk_attribute = [&](const ir::Attribute& attribute, auto&& place) {
    if (const ir::Tensor* tensor = attribute.tensor()) visit(*tensor, place());
    if (const auto* many = attribute.as<std::vector<ir::Tensor>>()) {
      for (const ir::Tensor& tensor : *many) visit(tensor, place());
    }
    if (const auto* sparse = attribute.as<std::unique_ptr<ir::SparseTensor>>()) visit_sparse(**sparse, place());
    if (const auto* many = attribute.as<std::vector<ir::SparseTensor>>()) {
      for (const ir::SparseTensor& sparse : *many) visit_sparse(sparse, place());
    }
  };
  for (const auto& site : context.sites) {
    for (const ir::Tensor& tensor : site->graph->initializers)
      visit(tensor, context.at(*site, "initializer", tensor.name));
    for (const ir::SparseTensor& sparse : site->graph->sparse_initializers) {
      visit_sparse(sparse,
                   context.at(*site, "initializer", sparse.values ? sparse.values->name.view() : std::string_view()));
    }
    for (std::size_t n = 0; n < site->graph->nodes.size(); ++n) {
      for (const ir::Attribute& attribute : site->graph->nodes[n].attributes) {
        walk_attribute(attribute,
                       [&] { return context.at(*site, n, "attribute " + std::string(attribute.name.view())); });
      }
    }
  }
  for (const ir::Function& function : context.model.functions) {
    for (const ir::Attribute& attribute : function.attribute_protos) {
      walk_attribute(attribute,
                     [&] { return context.at_function(function, "attribute " + std::string(attribute.name.view())); });
    }
  }
}

}  // namespace onnxkit::checker
