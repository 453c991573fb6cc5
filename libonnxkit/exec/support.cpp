#include "libonnxkit/exec/support.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/resolution.h"

namespace onnxkit::exec {
namespace {

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (const std::int64_t size : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// The shape as declared: numbers, names, "?".
std::string dims_text(const ir::DeclaredShape& shape) {
  std::string text = "[";
  for (const ir::DeclaredDim& dim : shape.dims) {
    if (text.size() > 1) text += ", ";
    text += dim.value ? std::to_string(*dim.value) : dim.param.empty() ? "?" : std::string(dim.param.view());
  }
  return text + "]";
}

bool fits(const ir::DeclaredShape& shape, std::span<const std::int64_t> dims) {
  return std::equal(shape.dims.begin(), shape.dims.end(), dims.begin(), dims.end(),
                    [](const ir::DeclaredDim& dim, std::int64_t size) { return !dim.value || *dim.value == size; });
}

Result<void> check_input(const ir::Graph& graph, std::size_t index, const Value& value) {
  const auto& type = graph.inputs[index].type;
  if (!type || type->kind == ir::DeclaredType::Kind::none) return {};
  if (kind_of(graph.inputs[index]) != value.kind)
    return input_error("input-type", graph, index, fmt::format("the input cannot be a {}", type_text(value)));
  if (!value.is_tensor()) return {};
  const auto declared = static_cast<ElementType>(type->elem_type.value_or(0));
  if (declared != ElementType::undefined && declared != value.tensor.type()) {
    return input_error(
        "input-type", graph, index,
        fmt::format("the input has elements of type {}, not {}", name_of(declared), name_of(value.tensor.type())));
  }
  if (type->shape && !fits(*type->shape, value.tensor.dims())) {
    return input_error(
        "input-shape", graph, index,
        fmt::format("the input has shape {}, not {}", dims_text(*type->shape), dims_text(value.tensor.dims())));
  }
  return {};
}

}  // namespace

std::vector<Unsupported> unsupported_nodes(const SupportQuery& supports, const ir::Model& model,
                                           const spec::OpTable& table) {
  std::vector<Unsupported> missing;
  const auto scopes = ir::graph_scopes(model);
  const spec::Resolution resolution(model, scopes, table);
  for (const auto& scope : scopes) {
    if (scope->is_training) continue;
    for (std::size_t i = 0; i < scope->graph->nodes.size(); ++i) {
      const ir::Node& node = scope->graph->nodes[i];
      const auto& [opset, function, schema] = resolution.of(*scope->graph, i);
      if (function) continue;
      Support support{false, "the operator has no definition in the imported opset"};
      if (schema) support = supports(node, *schema);
      if (support.supported) continue;
      missing.push_back({ir::location_of_node(scope->path, *scope->graph, i), std::move(support.reason)});
    }
  }
  return missing;
}

Error not_supported(std::span<const Unsupported> nodes) {
  constexpr std::size_t most = 20;
  Error error = make_error("not-supported", nodes.front().reason);
  error.diagnostic.location = nodes.front().location;
  for (const Unsupported& node : nodes.subspan(1, std::min(nodes.size() - 1, most)))
    error.diagnostic.notes.push_back(fmt::format("{} ({}): {}", node.location.path(), node.location.op, node.reason));
  if (nodes.size() > most + 1)
    error.diagnostic.notes.push_back(fmt::format("and {} more nodes", nodes.size() - most - 1));
  return error;
}

Result<void> check_inputs(const ir::Graph& graph, std::span<const Value> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return make_error("input-missing", fmt::format("the model has {} inputs, but {} values were given",
                                                   graph.inputs.size(), inputs.size()));
  }
  const std::set<std::string_view> defaults = default_names(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == ValueKind::none) {
      if (defaults.contains(graph.name_of(graph.inputs[i].value))) continue;
      return input_error("input-missing", graph, i, "no value was given for the input");
    }
    if (auto checked = check_input(graph, i, inputs[i]); !checked) return checked;
  }
  return {};
}

}  // namespace onnxkit::exec
