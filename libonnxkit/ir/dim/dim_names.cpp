#include "libonnxkit/ir/dim/dim_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/ir/dim/declare_dims.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::ir {
namespace {

using Names = std::set<std::string_view>;

void add_names(Names& names, const ir::DeclaredType& type) {
  if (type.shape) {
    for (const ir::DeclaredDim& dim : type.shape->dims)
      if (!dim.size() && !dim.param.empty()) names.insert(dim.param);
  }
  if (type.element) add_names(names, *type.element);
}

Names declared_names(const ir::Model& model) {
  Names names;
  for (const auto& scope : ir::graph_scopes(model)) {
    for (const auto* infos : {&scope->graph->inputs, &scope->graph->outputs, &scope->graph->value_infos})
      for (const ir::ValueInfo& info : *infos)
        if (info.type) add_names(names, *info.type);
  }
  return names;
}

/// What reports show for sizes of inputs that have no name, which declare_dims takes.
std::vector<std::string> anonymous_names(const ir::Model& model) {
  std::vector<std::string> names;
  if (!model.graph) return names;
  for (const ir::ValueInfo& input : model.graph->inputs) {
    if (input.value == ir::ValueId::none || !input.type || !input.type->shape) continue;
    const std::vector<ir::DeclaredDim>& dims = input.type->shape->dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (!dims[axis].size() && dims[axis].param.empty())
        names.push_back(anonymous_dim(model.graph->name_of(input.value), axis));
    }
  }
  return names;
}

}  // namespace

std::map<std::string, Error> unknown_dimensions(const ir::Model& model,
                                                const std::map<std::string, std::int64_t>& sizes) {
  std::map<std::string, Error> unknown;
  if (sizes.empty()) return unknown;
  const Names names = declared_names(model);
  const std::vector<std::string> anonymous = anonymous_names(model);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  candidates.insert(candidates.end(), anonymous.begin(), anonymous.end());
  for (const auto& [name, size] : sizes) {
    // A declared size may be an expression, such as "2*N".
    const auto mentions = [&name = name](std::string_view declared) {
      return declared.find(name) != std::string_view::npos;
    };
    if (std::any_of(names.begin(), names.end(), mentions)) continue;
    unknown.emplace(name, unknown_name("unknown-dimension", "dimension", name, candidates));
  }
  return unknown;
}

std::optional<Error> unknown_dimension(const ir::Model& model, const std::map<std::string, std::int64_t>& sizes) {
  auto unknown = unknown_dimensions(model, sizes);
  if (unknown.empty()) return {};
  return std::move(unknown.begin()->second);
}

}  // namespace onnxkit::ir
