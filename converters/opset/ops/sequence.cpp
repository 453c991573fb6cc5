#include <algorithm>

#include <fmt/core.h>

#include "converters/opset/steps.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

bool is_sequence(const checker::Type* type) { return type && type->kind == checker::Type::Kind::sequence; }

std::unique_ptr<ir::Graph> take_graph(ir::Node& node, std::string_view attribute) {
  for (ir::Attribute& candidate : node.attributes) {
    if (candidate.name != attribute) continue;
    if (auto* graph = std::get_if<std::unique_ptr<ir::Graph>>(&candidate.payload)) return std::move(*graph);
  }
  return nullptr;
}

/// Puts a body's nodes between the first ones of a frame and the others. `frame_values`: for values of the frame the body's own.
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

/// A Loop that takes an element of each sequence, and appends what the body makes of them.
class Mapping {
 public:
  explicit Mapping(Step& step) : step_(step) {}

  void build() {
    const ir::Attribute* attribute = step_.node().find_attribute("body");
    const ir::Graph* graph = attribute ? attribute->graph() : nullptr;
    if (!graph || graph->inputs.size() != step_.input_count() || graph->outputs.size() != step_.output_count())
      refuse("the body has another number of inputs or outputs than the node");
    const ValueId count = step_.add("SequenceLength", {step_.input(0)}, {}, "count");
    std::vector<ValueId> inputs = {count, step_.number(ElementType::boolean, 1)}, outputs;
    for (std::size_t i = 0; i < step_.output_count(); ++i) {
      inputs.push_back(step_.add("SequenceEmpty", {}, {{"dtype", element_type(i)}}, "empty"));
      outputs.push_back(step_.output(i) == ValueId::none ? step_.value("unused") : step_.output(i));
    }
    ir::Attribute made = make_frame();
    step_.emit("Loop", std::move(inputs), std::move(outputs)).attributes.push_back(std::move(made));
    step_.replace();
    step_.finish([items = items_, results = results_](ir::Model&, ir::Node& node, std::vector<ir::Node>& added) {
      std::unique_ptr<ir::Graph> body = take_graph(node, "body");
      ir::Attribute& held = added.back().attributes.back();
      const auto frame = std::move(*std::get_if<std::unique_ptr<ir::Graph>>(&held.payload));
      std::vector<ValueId> own(frame->values.size(), ValueId::none);
      for (std::size_t i = 0; i < items.size(); ++i) own[ir::index_of(items[i])] = body->inputs[i].value;
      for (std::size_t i = 0; i < results.size(); ++i) own[ir::index_of(results[i])] = body->outputs[i].value;
      held.payload = framed(std::move(body), *frame, 1 + items.size(), std::move(own));
    });
  }

 private:
  std::int64_t element_type(std::size_t output) const {
    const checker::Type* type = step_.type(step_.output(output));
    if (!is_sequence(type) || !type->element || type->element->elem == ElementType::undefined)
      refuse_unknown(fmt::format("the element type of output {} is not known", output));
    return static_cast<std::int64_t>(type->element->elem);
  }

  ir::Attribute make_frame() {
    std::vector<bool> are_sequences;
    for (std::size_t i = 0; i < step_.input_count(); ++i) {
      const checker::Type* type = step_.type(step_.input(i));
      if (!type || type->is_unknown())
        refuse_unknown(
            fmt::format("whether {} is a sequence is not known", quote(step_.graph().name_of(step_.input(i)))));
      are_sequences.push_back(is_sequence(type));
    }
    step_.begin_body();
    const ValueId iteration = step_.body_input("iteration"), condition = step_.body_input("condition");
    step_.body_output(step_.add("Identity", {condition}, {}, "condition"));
    for (std::size_t i = 0; i < are_sequences.size(); ++i) {
      const ValueId whole = step_.captured(step_.input(i));
      items_.push_back(are_sequences[i] ? step_.add("SequenceAt", {whole, iteration}, {}, "item")
                                        : step_.add("Identity", {whole}, {}, "item"));
    }
    for (std::size_t i = 0; i < step_.output_count(); ++i) {
      results_.push_back(step_.value("result"));
      const ValueId before = step_.body_input("before");
      step_.body_output(step_.add("SequenceInsert", {before, results_.back()}, {}, "after"));
    }
    return step_.end_body("body");
  }

  Step& step_;
  std::vector<ValueId> items_, results_;  ///< values of the frame that stand for the body's inputs and outputs
};

}  // namespace

void register_sequence(StepRegistry& registry) {
  const Way none = never("no older version knows sequences");
  registry.introduced({"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
                       "SequenceLength", "SplitToSequence", "ConcatFromSequence"},
                      11, none);
  registry.introduced({"SequenceMap"}, 17, adapt("written as Loop", [](Step& step) { Mapping(step).build(); }));
  registry.types({"SplitToSequence"}, {24});
}

}  // namespace onnxkit::opset
