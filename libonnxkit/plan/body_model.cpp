#include "libonnxkit/plan/body_model.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::plan {
namespace {

/// The values that bodies of the only node read from around it.
std::vector<ir::ValueId> captures(const ir::Graph& graph) {
  const ir::Node& node = graph.nodes.front();
  const ir::Uses uses(graph);
  const auto reads = uses.reads(0);
  const auto own =
      std::count_if(node.inputs.begin(), node.inputs.end(), [](ir::ValueId id) { return id != ir::ValueId::none; });
  std::vector<ir::ValueId> ids(reads.begin() + own, reads.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// What the model of the node says of a value, without its sizes.
std::optional<ir::DeclaredType> type_in(const ir::Graph& outer, const ir::InitializerTable& constants, ir::ValueId id) {
  ir::DeclaredType type;
  if (const ir::Tensor* constant = constants.find(id)) {
    type.kind = ir::DeclaredType::Kind::tensor;
    type.elem_type = constant->data_type;
    return type;
  }
  const auto input = std::find_if(outer.inputs.begin(), outer.inputs.end(),
                                  [&](const ir::ValueInfo& port) { return port.value == id && port.type; });
  if (input == outer.inputs.end()) return std::nullopt;
  type = input->type->clone();
  type.shape.reset();
  return type;
}

/// Inputs of the body for which it declares no type get that of what the node passes on: a plan of doubles needs them. Sizes that it declares are
/// often those of the first pass only; of a Loop's number of the pass and condition the rank counts.
void declare_inputs(ir::Graph& body, const ir::Graph& outer, const ir::InitializerTable& constants) {
  const ir::Node& node = outer.nodes.front();
  for (std::size_t i = 0; i < body.inputs.size() && i < node.inputs.size(); ++i) {
    std::optional<ir::DeclaredType>& type = body.inputs[i].type;
    const bool is_stated = type && type->kind != ir::DeclaredType::Kind::none;
    if (!is_stated && node.inputs[i] != ir::ValueId::none) type = type_in(outer, constants, node.inputs[i]);
    const bool is_counter = Subject::is_op(node, "Loop") && i < 2;
    if (type && !is_counter) type->shape.reset();
  }
}

/// A value that a loop carries from pass to pass.
struct Carried {
  std::size_t input, output;  ///< of the body; the node's input has the same number
};
std::vector<Carried> carried_by(const ir::Node& node, const ir::Graph& body) {
  const std::size_t inputs = std::min(node.inputs.size(), body.inputs.size());
  std::vector<Carried> carried;
  if (Subject::is_op(node, "Loop")) {
    for (std::size_t i = 2; i < inputs; ++i) carried.push_back({.input = i, .output = i - 1});
  } else if (Subject::is_op(node, "Scan")) {
    const auto scanned = static_cast<std::size_t>(std::max<std::int64_t>(integer_of(node, "num_scan_inputs", 0), 0));
    for (std::size_t i = 0; i + scanned < inputs; ++i) carried.push_back({.input = i, .output = i});
  }
  return carried;
}

/// By output of the graph: the input that it is, behind nodes Identity.
std::vector<std::optional<std::size_t>> passed_on(const ir::Graph& graph) {
  const std::vector<std::int32_t> producers = ir::producers(graph);
  std::vector<std::optional<std::size_t>> passed;
  for (const ir::ValueInfo& output : graph.outputs) {
    ir::ValueId id = output.value;
    while (id != ir::ValueId::none && producers[ir::index_of(id)] >= 0) {
      const ir::Node& node = graph.nodes[static_cast<std::size_t>(producers[ir::index_of(id)])];
      id = Subject::is_op(node, "Identity") ? input_of(node, 0) : ir::ValueId::none;
    }
    const auto input = std::ranges::find(graph.inputs, id, &ir::ValueInfo::value);
    const bool is_input = id != ir::ValueId::none && input != graph.inputs.end();
    passed.push_back(is_input ? std::optional<std::size_t>(input - graph.inputs.begin()) : std::nullopt);
  }
  return passed;
}

/// A carried value that each pass hands on as it is remains what the loop begins with. Where that is a constant, the body reads it: exporters carry
/// weights so.
void fix_unchanged(ir::Model& model, ir::Graph& body, const ir::Node& node, const ir::InitializerTable& constants,
                   const std::vector<std::optional<std::size_t>>& passed) {
  for (const Carried& carried : carried_by(node, body)) {
    const ir::Tensor* constant = constants.find(node.inputs[carried.input]);
    if (!constant || carried.output >= passed.size() || passed[carried.output] != carried.input) continue;
    ir::ValueId& port = body.inputs[carried.input].value;
    const Text read = body.values[ir::index_of(port)].name;
    port = body.intern(model.keep(fmt::format("{} \"of the first pass\"", read.view())));
    body.initializers.push_back(ir::clone(*constant));
    body.initializers.back().name = read;
  }
}

}  // namespace

BodyModel body_model(const ir::Model& model, const ir::Graph& body, bool passes_on) {
  ir::Model made = ir::clone(model);
  const ir::Graph& outer = *model.graph;
  auto graph = std::make_unique<ir::Graph>(ir::clone(body));
  const ir::InitializerTable constants(outer);
  declare_inputs(*graph, outer, constants);
  for (const ir::ValueId id : captures(outer)) {
    const Text name = outer.values[ir::index_of(id)].name;
    const ir::ValueId inner = graph->intern(name);
    if (const ir::Tensor* constant = constants.find(id)) {
      graph->initializers.push_back(ir::clone(*constant));
    } else if (const ir::SparseTensor* sparse = constants.find_sparse(id)) {
      graph->sparse_initializers.push_back(ir::clone(*sparse));
    } else {
      ir::ValueInfo& input = graph->inputs.emplace_back();
      input.value = inner;
      input.type = type_in(outer, constants, id);
    }
  }
  std::vector<std::optional<std::size_t>> passed(graph->outputs.size());
  if (passes_on) {
    passed = passed_on(*graph);
    fix_unchanged(made, *graph, outer.nodes.front(), constants, passed);
  }
  for (std::size_t o = passed.size(); o-- > 0;)
    if (passed[o]) graph->outputs.erase(graph->outputs.begin() + static_cast<std::ptrdiff_t>(o));
  made.graph = std::move(graph);
  return {.model = std::move(made), .passed_on = std::move(passed)};
}

}  // namespace onnxkit::plan
