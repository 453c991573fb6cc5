#include "converters/formats/torchscript/torchscript.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "converters/formats/pt2/functionalize.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/torchscript/lower.h"
#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::pt2 {
void register_all_pt2_mappings(Mappings& mappings);
}

namespace onnxkit::torchscript {

void register_all_torchscript_mappings(Mappings& mappings);

namespace {

/// What the module's buffers hold behind a run: those that it replaced, whose contents are the last outputs, and those that it wrote into. An input
/// that it writes into is the caller's business, as PyTorch returns none, unless it stands for a buffer.
std::vector<pt2::Written> changes_of_state(foreign::Graph& graph, const std::vector<pt2::Written>& written,
                                           const Lowered& lowered) {
  const std::vector<foreign::ValueId>& rebound = lowered.rebound;
  std::vector<pt2::Written> changes;
  const std::size_t first = graph.outputs.size() - rebound.size();
  for (std::size_t i = 0; i < rebound.size(); ++i) changes.push_back({rebound[i], graph.outputs[first + i].value});
  graph.outputs.resize(first);
  for (const pt2::Written& one : written) {
    const bool is_given = std::find(lowered.state.begin(), lowered.state.end(), one.input) != lowered.state.end();
    const bool is_stored =
        is_given || std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                [&](const foreign::Tensor& tensor) { return tensor.value == one.input; });
    const bool is_replaced = std::find(rebound.begin(), rebound.end(), one.input) != rebound.end();
    if (is_stored && !is_replaced) changes.push_back(one);
  }
  return changes;
}

/// Names of outputs go to what a written tensor holds in the end: what it held before had them until now.
void move_names_to_outputs(foreign::Graph& graph, StringPool& strings) {
  std::map<std::string_view, foreign::ValueId> owners;
  for (const foreign::Output& output : graph.outputs) owners.emplace(output.name, output.value);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const auto owner = owners.find(graph.values[i].name);
    if (owner == owners.end() || foreign::index_of(owner->second) == i || owner->first.empty()) continue;
    graph.values[i].name = strings.keep(fmt::format("{}.before", owner->first)).view();
  }
}

}  // namespace

Mappings all_mappings() {
  pt2::Mappings aten;
  pt2::register_all_pt2_mappings(aten);
  Mappings mappings(aten);
  register_all_torchscript_mappings(mappings);
  return mappings;
}

foreign::ReadOperators read_operators() { return all_mappings().operators(); }

Result<ir::Model> read(std::shared_ptr<const MappedFile> file, const Settings& settings,
                       std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  auto module = read_module(std::move(file));
  if (!module) return std::move(module).error();
  auto lowered = lower(*module, settings);
  if (!lowered) return std::move(lowered).error();
  foreign::Model& model = lowered->model;
  const auto written = pt2::functionalize(model.graph, *model.strings);
  if (!written) return written.error();
  move_names_to_outputs(model.graph, *model.strings);
  foreign::expose_changes(model, changes_of_state(model.graph, *written, *lowered));
  return foreign::import_model(model, all_mappings(), findings, trace);
}

}  // namespace onnxkit::torchscript
