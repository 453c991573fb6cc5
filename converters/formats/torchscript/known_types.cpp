#include "converters/formats/torchscript/known_types.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "converters/foreign/complex_numbers.h"
#include "converters/foreign/import.h"
#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::torchscript {

namespace {

using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

}  // namespace

bool KnownTypes::is_in_place(std::string_view op) {
  const std::size_t end = op.rfind('.');
  return end != std::string_view::npos && end >= 2 && op[end - 1] == '_' && op[end - 2] != '_';
}

bool KnownTypes::changes_shape(std::string_view op) {
  constexpr std::array<std::string_view, 10> ops = {
      "aten.resize_",   "aten.unsqueeze_", "aten.squeeze_",   "aten.t_",        "aten.transpose_",
      "aten.swapaxes_", "aten.set_",       "aten.resize_as_", "aten.swapdims_", "aten.as_strided_"};
  return std::find(ops.begin(), ops.end(), op.substr(0, op.rfind('.'))) != ops.end();
}

struct KnownTypes::State {
  State(const foreign::Model& model, const GraphWriter& used)
      : source(model),
        writer(used),
        onnx(foreign::empty_model(model, foreign::import_opset)),
        importer(onnx, mappings, table, nullptr),
        inputs(model.graph.inputs.size()) {}

  const foreign::Model& source;
  const GraphWriter& writer;
  const Mappings mappings = all_mappings();
  const spec::OpTable table;
  ir::Model onnx;
  foreign::Importer importer;
  std::size_t inputs, tensors = 0;                                    ///< of the main graph
  std::map<const Graph*, std::size_t> imported;                       ///< so many of a graph's nodes
  std::map<std::pair<const Graph*, ValueId>, Item> given_first;       ///< to inputs of passes
  std::vector<std::pair<const Graph*, std::size_t>> without_outputs;  ///< nodes whose list had not been taken apart
};

KnownTypes::KnownTypes(const foreign::Model& model, const GraphWriter& writer)
    : state_(std::make_unique<State>(model, writer)) {}
KnownTypes::~KnownTypes() = default;

void KnownTypes::assume(const Graph& pass, ValueId given, const Item& first) {
  state_->given_first.emplace(std::pair(&pass, given), first);
}

void KnownTypes::fill_inputs(const GraphWriter::Frame& frame) {
  foreign::Importer& importer = state_->importer;
  const Graph& graph = *frame.graph;
  for (const auto& [outer, inner] : frame.inputs) importer.copy_value(*outer.first, outer.second, graph, inner);
  for (const ValueId id : graph.inputs) {
    const auto first = state_->given_first.find({&graph, id});
    if (first == state_->given_first.end() || importer.value(graph, id)) continue;
    const foreign::Val given = importer.value(*first->second.graph, first->second.id);
    checker::Type type = checker::Type::tensor(ElementType::undefined);
    if (importer.knows(*first->second.graph, first->second.id)) type = importer.builder().type(given);
    importer.set_value(graph, id, importer.builder().placeholder(type));
    if (!type.shape) importer.forget(graph, id);
  }
}

void KnownTypes::catch_up(const Graph& graph) {
  foreign::Importer& importer = state_->importer;
  std::erase_if(state_->without_outputs, [&](const auto& place) {
    const bool has_some = place.first == &graph && !graph.nodes[place.second].outputs.empty();
    if (has_some) importer.import_node(graph, place.second);
    return has_some;
  });
  for (std::size_t& next = state_->imported[&graph]; next < graph.nodes.size(); ++next) {
    const Node& node = graph.nodes[next];
    const foreign::Argument* self = is_in_place(node.op) ? node.find("self") : nullptr;
    const auto* written = self ? self->as<ValueId>() : nullptr;
    if (!written) {
      if (node.outputs.empty()) state_->without_outputs.emplace_back(&graph, next);
      importer.import_node(graph, next);
      continue;
    }
    if (changes_shape(node.op)) importer.forget(graph, *written);
    for (const ValueId id : node.outputs) importer.copy_value(graph, *written, graph, id);
  }
}

/// From the main graph inwards.
void KnownTypes::catch_up() {
  const Graph& main = state_->source.graph;
  if (main.inputs.size() != state_->inputs) return;
  if (std::exchange(state_->tensors, main.tensors.size()) != main.tensors.size() || main.tensors.empty())
    state_->importer.add_inputs(state_->source);
  for (const GraphWriter::Frame& frame : state_->writer.frames()) {
    state_->importer.make_room(*frame.graph);
    fill_inputs(frame);
    catch_up(*frame.graph);
  }
}

ElementType KnownTypes::elem(const Item& tensor) {
  catch_up();
  foreign::Importer& importer = state_->importer;
  if (!importer.knows(*tensor.graph, tensor.id)) return ElementType::undefined;
  const ElementType elem = importer.builder().elem(importer.value(*tensor.graph, tensor.id));
  return importer.imaginary(*tensor.graph, tensor.id) ? foreign::complex_type_of(elem) : elem;
}

std::optional<std::vector<std::int64_t>> KnownTypes::sizes(const Item& tensor) {
  catch_up();
  foreign::Importer& importer = state_->importer;
  if (!importer.knows(*tensor.graph, tensor.id)) return std::nullopt;
  const foreign::Val value = importer.value(*tensor.graph, tensor.id);
  const auto rank = importer.builder().rank(value);
  if (!rank) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < *rank; ++axis) sizes.push_back(importer.builder().size(value, axis).value_or(-1));
  return sizes;
}

}  // namespace onnxkit::torchscript
