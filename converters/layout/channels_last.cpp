#include "converters/layout/channels_last.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "converters/layout/permutation.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::layout {
namespace {

constexpr std::string_view layout_operators[] = {"Conv",   "ConvTranspose", "MaxPool",      "AveragePool", "LpPool",
                                                 "Resize", "DepthToSpace",  "SpaceToDepth", "LRN"};
/// The first version of the model format whose functions may have overloads.
constexpr std::int64_t ir_version_of_overloads = 10;

Permutation first_to_last(std::size_t rank) {
  Permutation order = {0};
  for (std::size_t axis = 2; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  order.push_back(1);
  return order;
}

/// Writes calls of functions, and the functions, one for each set of inputs and attributes.
class ChannelsLast {
 public:
  explicit ChannelsLast(ir::Model& model) : model_(model), names_(model) {}

  void convert(ir::Graph& graph, const checker::InferredModel& inferred, std::int64_t opset) {
    std::vector<ir::Node> nodes;
    nodes.reserve(graph.nodes.size());
    for (ir::Node& node : graph.nodes) {
      const std::size_t rank = rank_of(graph, node, inferred);
      if (rank < 3) {
        nodes.push_back(std::move(node));
        continue;
      }
      const Permutation to_last = first_to_last(rank);
      const ir::ValueId x = node.inputs[0], y = node.outputs[0];
      node.inputs[0] = fresh(graph, x);
      node.outputs[0] = fresh(graph, y);
      nodes.push_back(transpose(x, to_last, node.inputs[0]));
      call_function(node, rank, opset);
      const ir::ValueId computed = node.outputs[0];
      nodes.push_back(std::move(node));
      nodes.push_back(transpose(computed, inverse_of(to_last), y));
    }
    graph.nodes = std::move(nodes);
  }

 private:
  static std::size_t rank_of(const ir::Graph& graph, const ir::Node& node, const checker::InferredModel& inferred) {
    const bool is_known = ir::canonical_domain(node.domain.view()).empty() && is_layout_operator(node.op_type.view());
    const auto count =
        std::count_if(node.outputs.begin(), node.outputs.end(), [](ir::ValueId id) { return id != ir::ValueId::none; });
    if (!is_known || node.inputs.empty() || count != 1 || node.outputs[0] == ir::ValueId::none) return 0;
    const checker::ValueInfo* x = inferred.find(graph, node.inputs[0]);
    return x && x->type.shape ? x->type.shape->size() : 0;
  }

  ir::ValueId fresh(ir::Graph& graph, ir::ValueId like) {
    return graph.intern(names_.make(fmt::format("{}_channels_last", graph.name_of(like))));
  }

  ir::Node transpose(ir::ValueId from, const Permutation& order, ir::ValueId to) {
    return ir::make_node(model_, "Transpose", {from}, {to}, {{"perm", order}});
  }

  /// The node becomes a call of the function that stands for it.
  void call_function(ir::Node& node, std::size_t rank, std::int64_t opset) {
    const std::string name = fmt::format("{}{}D", node.op_type.view(), rank - 2);
    std::string kind = name;
    for (const ir::ValueId input : node.inputs) kind += input == ir::ValueId::none ? " -" : " x";
    std::vector<std::string_view> attributes;
    for (const ir::Attribute& attribute : node.attributes) attributes.push_back(attribute.name.view());
    std::sort(attributes.begin(), attributes.end());
    for (const std::string_view attribute : attributes) kind += fmt::format(" {}", attribute);
    auto [known, is_new] = overloads_.try_emplace(kind, std::to_string(overloads_.size()));
    if (is_new) add_function(node, name, known->second, rank, opset);
    node.op_type = model_.keep(name);
    node.domain = model_.keep(channels_last_domain);
    node.overload = model_.keep(known->second);
  }

  void add_function(const ir::Node& node, std::string_view name, std::string_view overload, std::size_t rank,
                    std::int64_t opset) {
    ir::Function function;
    function.name = model_.keep(name);
    function.domain = model_.keep(channels_last_domain);
    function.overload = model_.keep(overload);
    function.opset_imports.push_back({.domain = {}, .version = opset, .unknown_fields = {}});
    ir::Graph& body = function.body;
    std::vector<ir::ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId input = body.intern(model_.keep(fmt::format("input_{}", i)));
      body.inputs.push_back({.value = input, .type = {}, .doc_string = {}, .metadata_props = {}, .unknown_fields = {}});
      inputs.push_back(node.inputs[i] == ir::ValueId::none ? ir::ValueId::none : input);
    }
    const ir::ValueId first = body.intern(model_.keep("first")), computed = body.intern(model_.keep("computed")),
                      output = body.intern(model_.keep("output"));
    const Permutation to_last = first_to_last(rank);
    body.nodes.push_back(transpose(inputs[0], inverse_of(to_last), first));
    inputs[0] = first;
    ir::Node inner = ir::make_node(model_, node.op_type.view(), inputs, {computed});
    for (const ir::Attribute& attribute : node.attributes) {
      function.attributes.push_back(attribute.name);
      ir::Attribute& reference = inner.attributes.emplace_back();
      reference.name = attribute.name;
      reference.ref_attr_name = attribute.name;
      reference.type = attribute.type;
    }
    body.nodes.push_back(std::move(inner));
    body.nodes.push_back(transpose(computed, to_last, output));
    body.outputs.push_back({.value = output, .type = {}, .doc_string = {}, .metadata_props = {}, .unknown_fields = {}});
    model_.functions.push_back(std::move(function));
  }

  ir::Model& model_;
  ir::FreshNames names_;
  std::map<std::string, std::string> overloads_;
};

}  // namespace

bool is_layout_operator(std::string_view op) {
  return std::find(std::begin(layout_operators), std::end(layout_operators), op) != std::end(layout_operators);
}

void to_channels_last(ir::Model& model) {
  const auto scopes = ir::graph_scopes(model);
  const spec::OpTable table;
  checker::Collector collector;
  const checker::InferredModel inferred = checker::infer_types(model, table, {}, collector);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  const std::size_t functions = model.functions.size();
  ChannelsLast pass(model);
  // Inner graphs first, as nodes move to another place.
  for (std::size_t g = graphs.size(); g-- > 0;) {
    const auto opset = scopes[g]->opset("");
    if (opset && !scopes[g]->function && !scopes[g]->is_training) pass.convert(*graphs[g], inferred, *opset);
  }
  if (model.functions.size() == functions) return;
  if (!ir::opset_of(model.opset_imports, channels_last_domain))
    model.opset_imports.push_back({.domain = model.keep(channels_last_domain), .version = 1, .unknown_fields = {}});
  model.ir_version = std::max(model.ir_version.value_or(0), ir_version_of_overloads);
}

}  // namespace onnxkit::layout
