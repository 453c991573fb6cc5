#include "libonnxkit/edit/extract.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "checker/infer/annotate.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/extract.h"

namespace onnxkit::edit {
namespace {

using ir::ValueId;

/// Everything that may be named: what the graph is given, stores and writes.
std::vector<std::string_view> value_names(const ir::Graph& graph) {
  std::vector<std::string_view> names;
  for (const ir::ValueInfo& input : graph.inputs) names.push_back(graph.name_of(input.value));
  for (const ir::Node& node : graph.nodes)
    for (const ValueId id : node.outputs)
      if (id != ValueId::none) names.push_back(graph.name_of(id));
  return names;
}

/// The values of these names. Errors: unknown-value, usage.
Result<std::vector<ValueId>> values_named(const ir::Graph& graph, const ir::Uses& uses,
                                          const std::vector<std::string>& names, std::string_view option) {
  std::vector<ValueId> ids;
  for (const std::string& name : names) {
    const ValueId id = graph.find(name);
    const bool is_there = id != ValueId::none && (uses.producer(id) >= 0 || uses.initializers().contains(id) ||
                                                  std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                                              [id](const auto& input) { return input.value == id; }));
    if (!is_there) return unknown_name("unknown-value", "value in its main graph named", name, value_names(graph));
    if (std::find(ids.begin(), ids.end(), id) != ids.end())
      return make_error("usage", fmt::format("{} names {} twice", option, quote(name)));
    ids.push_back(id);
  }
  return ids;
}

std::vector<ValueId> outputs_of(const ir::Graph& graph) {
  std::vector<ValueId> ids;
  for (const ir::ValueInfo& output : graph.outputs)
    if (output.value != ValueId::none && std::find(ids.begin(), ids.end(), output.value) == ids.end())
      ids.push_back(output.value);
  return ids;
}

/// Outputs that are weights: inference says their types of none.
void declare_stored_outputs(ir::Graph& graph) {
  const ir::InitializerTable initializers(graph);
  for (ir::ValueInfo& output : graph.outputs) {
    if (output.type && output.type->kind != ir::DeclaredType::Kind::none) continue;
    const ir::Tensor* const stored = initializers.find(output.value);
    if (!stored) continue;
    ir::DeclaredType& type = output.type.emplace();
    type.kind = ir::DeclaredType::Kind::tensor;
    type.elem_type = stored->data_type;
    ir::DeclaredShape& shape = type.shape.emplace();
    for (const std::int64_t size : stored->dims) shape.dims.emplace_back().value = size;
  }
}

/// A value that shall become an input and that nothing in the part reads.
std::optional<Error> unneeded(const ir::Graph& graph, const ir::Part& part, const std::vector<ValueId>& from,
                              const std::vector<ValueId>& to) {
  for (const ValueId id : from) {
    if (std::find(part.inputs.begin(), part.inputs.end(), id) != part.inputs.end()) continue;
    const bool is_given = part.reads[ir::index_of(id)] || std::find(to.begin(), to.end(), id) != to.end();
    const std::string name = quote(graph.name_of(id));
    if (!is_given)
      return make_error("usage", fmt::format("the outputs do not depend on {}, or on other inputs only", name));
    return make_error("usage",
                      fmt::format("{} cannot become an input: it is a weight, or its node writes another value "
                                  "that is needed",
                                  name));
  }
  return std::nullopt;
}

}  // namespace

Result<Extraction> extract(const ir::Model& model, const ExtractOptions& options) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  ir::Model typed = ir::clone(model);
  InferOptions inference;
  inference.context = options.context;
  if (auto inferred = checker::annotate(typed, inference); !inferred) return inferred.error();

  const ir::Graph& graph = *typed.graph;
  const ir::Uses uses(graph);
  const auto from = values_named(graph, uses, options.from, "--from");
  if (!from) return from.error();
  auto to = values_named(graph, uses, options.to, "--to");
  if (!to) return to.error();
  if (to->empty()) to = outputs_of(graph);
  const ir::Part part = ir::part_between(graph, uses, *from, *to);
  if (const auto fault = unneeded(graph, part, *from, *to)) return *fault;

  auto made = std::make_unique<ir::Model>(ir::extract(typed, part, *to));
  declare_stored_outputs(*made->graph);
  std::vector<std::string> inputs, also_needed;
  for (const ir::ValueInfo& input : made->graph->inputs) {
    const std::string name(made->graph->name_of(input.value));
    if (!input.type || input.type->kind == ir::DeclaredType::Kind::none)
      return make_error("input-type",
                        fmt::format("the type of {} is not known, so that it cannot become an input", quote(name)));
    const bool is_named = std::find(options.from.begin(), options.from.end(), name) != options.from.end();
    if (!is_named && !options.from.empty()) also_needed.push_back(name);
    inputs.push_back(name);
  }
  return Extraction{.model = Model(std::move(made)),
                    .nodes = part.nodes.size(),
                    .all_nodes = graph.nodes.size(),
                    .inputs = std::move(inputs),
                    .also_needed = std::move(also_needed)};
}

}  // namespace onnxkit::edit
