#include "converters/formats/torchscript/known_types.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "converters/foreign/import.h"
#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

/// "aten.relu_.default", not "aten.__or__.Tensor".
bool is_in_place(std::string_view op) {
  const std::size_t end = op.rfind('.');
  return end != std::string_view::npos && end >= 2 && op[end - 1] == '_' && op[end - 2] != '_';
}

/// Whether an operator gives the tensor that it writes to another shape.
bool changes_shape(std::string_view op) {
  constexpr std::array<std::string_view, 10> ops = {
      "aten.resize_",   "aten.unsqueeze_", "aten.squeeze_",   "aten.t_",        "aten.transpose_",
      "aten.swapaxes_", "aten.set_",       "aten.resize_as_", "aten.swapdims_", "aten.as_strided_"};
  return std::find(ops.begin(), ops.end(), op.substr(0, op.rfind('.'))) != ops.end();
}

}  // namespace

struct KnownTypes::State {
  explicit State(const foreign::Model& model)
      : source(model),
        onnx(foreign::empty_model(model, foreign::import_opset)),
        importer(onnx, mappings, table, nullptr),
        inputs(model.graph.inputs.size()) {}

  const foreign::Model& source;
  const Mappings mappings = all_mappings();
  const spec::OpTable table;
  ir::Model onnx;
  foreign::Importer importer;
  std::size_t inputs, nodes = 0;  ///< so many of each have been imported
};

KnownTypes::KnownTypes(const foreign::Model& model) : state_(std::make_unique<State>(model)) {}
KnownTypes::~KnownTypes() = default;

void KnownTypes::catch_up() {
  State& state = *state_;
  const Graph& graph = state.source.graph;
  if (graph.inputs.size() != state.inputs) return;
  state.importer.add_inputs(state.source);
  for (; state.nodes < graph.nodes.size(); ++state.nodes) {
    const Node& node = graph.nodes[state.nodes];
    const foreign::Argument* self = is_in_place(node.op) ? node.find("self") : nullptr;
    const auto* written = self ? self->as<ValueId>() : nullptr;
    if (!written) {
      state.importer.import_node(graph, state.nodes);
      continue;
    }
    if (changes_shape(node.op)) state.importer.forget(graph, *written);
    for (const ValueId id : node.outputs) {
      state.importer.set_value(graph, id, state.importer.value(graph, *written));
      if (!state.importer.knows(graph, *written)) state.importer.forget(graph, id);
    }
  }
}

ElementType KnownTypes::elem(ValueId id) {
  catch_up();
  foreign::Importer& importer = state_->importer;
  const Graph& graph = state_->source.graph;
  return importer.knows(graph, id) ? importer.builder().elem(importer.value(graph, id)) : ElementType::undefined;
}

std::optional<std::vector<std::int64_t>> KnownTypes::sizes(ValueId id) {
  catch_up();
  foreign::Importer& importer = state_->importer;
  const Graph& graph = state_->source.graph;
  if (!importer.knows(graph, id)) return std::nullopt;
  const foreign::Val value = importer.value(graph, id);
  const auto rank = importer.builder().rank(value);
  if (!rank) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < *rank; ++axis) sizes.push_back(importer.builder().size(value, axis).value_or(-1));
  return sizes;
}

}  // namespace onnxkit::torchscript
