#include "converters/opset/compose/bodies.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::opset {

std::unique_ptr<ir::Graph> take_graph(ir::Node& node, std::string_view attribute) {
  for (ir::Attribute& candidate : node.attributes) {
    if (candidate.name != attribute) continue;
    if (auto* graph = std::get_if<std::unique_ptr<ir::Graph>>(&candidate.payload)) return std::move(*graph);
  }
  return nullptr;
}

void put_graph(ir::Node& node, std::string_view attribute, std::unique_ptr<ir::Graph> graph) {
  for (ir::Attribute& candidate : node.attributes) {
    if (candidate.name == attribute) candidate.payload = std::move(graph);
  }
}

std::unique_ptr<ir::Graph> framed(std::unique_ptr<ir::Graph> body, ir::Graph& frame, std::size_t first_nodes,
                                  std::vector<ValueId> frame_values) {
  for (std::size_t i = 0; i < frame.values.size(); ++i) {
    if (frame_values[i] == ValueId::none) frame_values[i] = body->intern(frame.values[i].name);
  }
  const auto resolve = [&](ValueId& id) {
    if (id != ValueId::none) id = frame_values[ir::index_of(id)];
  };
  std::vector<ir::Node> nodes;
  const auto place = [&](ir::Node& node) {
    std::for_each(node.inputs.begin(), node.inputs.end(), resolve);
    std::for_each(node.outputs.begin(), node.outputs.end(), resolve);
    nodes.push_back(std::move(node));
  };
  for (std::size_t i = 0; i < first_nodes; ++i) place(frame.nodes[i]);
  for (ir::Node& node : body->nodes) nodes.push_back(std::move(node));
  for (std::size_t i = first_nodes; i < frame.nodes.size(); ++i) place(frame.nodes[i]);
  body->nodes = std::move(nodes);
  for (ir::ValueInfo& input : body->inputs) body->value_infos.push_back(std::move(input));
  body->inputs = std::move(frame.inputs);
  body->outputs = std::move(frame.outputs);
  for (ir::ValueInfo& input : body->inputs) resolve(input.value);
  for (ir::ValueInfo& output : body->outputs) resolve(output.value);
  return body;
}

namespace {

class Inlining {
 public:
  Inlining(Step& step, const ir::Graph& body) : step_(step), body_(body), own_(body.values.size(), ValueId::none) {}

  std::vector<ValueId> run(const std::vector<ValueId>& inputs, const std::vector<ValueId>& wanted) {
    if (inputs.size() != body_.inputs.size()) refuse("the body has another number of inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) at(body_.inputs[i].value) = inputs[i];
    if (!body_.sparse_initializers.empty()) refuse("the body stores sparse tensors");
    for (const ir::Tensor& tensor : body_.initializers) {
      const ValueId id = body_.find(tensor.name);
      if (id == ValueId::none || at(id) != ValueId::none) continue;
      ir::Tensor copy = ir::clone(tensor);
      copy.name = {};
      at(id) = step_.constant_node(std::move(copy), "stored");
    }
    write_outputs(wanted);
    for (const std::size_t n : ir::evaluation_order(body_)) copy_node(body_.nodes[n]);
    std::vector<ValueId> outputs;
    for (const ir::ValueInfo& output : body_.outputs) outputs.push_back(known(output.value));
    return outputs;
  }

 private:
  ValueId& at(ValueId id) { return own_[ir::index_of(id)]; }

  /// Made by a node of the body: it writes the wanted value itself.
  void write_outputs(const std::vector<ValueId>& wanted) {
    const std::vector<std::int32_t> producer = ir::producers(body_);
    for (std::size_t i = 0; i < std::min(wanted.size(), body_.outputs.size()); ++i) {
      const ValueId output = body_.outputs[i].value;
      if (output != ValueId::none && producer[ir::index_of(output)] >= 0 && at(output) == ValueId::none)
        at(output) = wanted[i];
    }
  }

  /// What the body does not make it takes from around.
  ValueId known(ValueId id) {
    if (id == ValueId::none || at(id) != ValueId::none) return id == ValueId::none ? id : at(id);
    at(id) = step_.graph().find(body_.name_of(id));
    if (at(id) == ValueId::none) refuse("the body reads a value of a graph further out");
    return at(id);
  }

  void copy_node(const ir::Node& node) {
    ir::for_each_subgraph(node, [](const ir::Graph&, std::size_t) { refuse("a node of the body has a body, too"); });
    std::vector<ValueId> inputs, outputs;
    for (const ValueId input : node.inputs) inputs.push_back(known(input));
    for (const ValueId output : node.outputs) {
      if (output != ValueId::none && at(output) == ValueId::none) at(output) = step_.value(body_.name_of(output));
      outputs.push_back(output == ValueId::none ? output : at(output));
    }
    step_.emit_copy(node, std::move(inputs), std::move(outputs));
  }

  Step& step_;
  const ir::Graph& body_;
  std::vector<ValueId> own_;  ///< by value of the body: that of the step's graph
};

}  // namespace

std::vector<ValueId> inlined(Step& step, const ir::Graph& body, const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& wanted) {
  return Inlining(step, body).run(inputs, wanted);
}

}  // namespace onnxkit::opset
