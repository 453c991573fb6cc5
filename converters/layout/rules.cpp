#include "converters/layout/rules.h"

#include <algorithm>

namespace onnxkit::layout {

const checker::Shape* NodeFacts::shape_of(ir::ValueId id) const {
  const checker::ValueInfo* known = id == ir::ValueId::none ? nullptr : inferred_.find(graph_, id);
  return known && known->type.is_tensor() && known->type.shape ? &*known->type.shape : nullptr;
}

std::optional<std::size_t> NodeFacts::rank(std::size_t input) const {
  const checker::Shape* known = shape(input);
  return known ? std::optional(known->size()) : std::nullopt;
}

std::optional<std::size_t> NodeFacts::output_rank(std::size_t output) const {
  const checker::Shape* known = output_shape(output);
  return known ? std::optional(known->size()) : std::nullopt;
}

ElementType NodeFacts::elem(std::size_t input) const {
  const checker::ValueInfo* known = has(input) ? inferred_.find(graph_, node.inputs[input]) : nullptr;
  return known ? known->type.elem : ElementType::undefined;
}

std::optional<std::vector<std::int64_t>> NodeFacts::integers(std::size_t input) const {
  const checker::ValueInfo* known = has(input) ? inferred_.find(graph_, node.inputs[input]) : nullptr;
  return known && known->value && !known->from_data ? known->value->constants() : std::nullopt;
}

std::int64_t NodeFacts::attribute(std::string_view name, std::int64_t fallback) const {
  const ir::Attribute* found = node.find_attribute(name);
  const auto* value = found ? found->as<std::int64_t>() : nullptr;
  return value ? *value : fallback;
}

const std::vector<std::int64_t>* NodeFacts::list(std::string_view name) const {
  const ir::Attribute* found = node.find_attribute(name);
  return found ? found->as<std::vector<std::int64_t>>() : nullptr;
}

std::string_view NodeFacts::text(std::string_view name) const {
  const ir::Attribute* found = node.find_attribute(name);
  const Text* value = found ? found->as<Text>() : nullptr;
  return value ? value->view() : std::string_view();
}

std::optional<std::int64_t> NodeFacts::axis(std::int64_t given, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (given < -count || given >= count) return std::nullopt;
  return given < 0 ? given + count : given;
}

std::optional<Axes> NodeFacts::axes(const std::vector<std::int64_t>& given, std::size_t rank) {
  Axes known;
  for (const std::int64_t one : given) {
    const auto counted = axis(one, rank);
    if (!counted || std::find(known.begin(), known.end(), *counted) != known.end()) return std::nullopt;
    known.push_back(*counted);
  }
  return known;
}

void NodeEditor::set_attribute(const ir::Attr& attribute) {
  std::erase_if(node->attributes, [&](const ir::Attribute& old) { return old.name == attribute.name; });
  node->attributes.push_back(made(attribute));
}

void NodeEditor::set_input(std::size_t input, ir::ValueId value) {
  if (node->inputs.size() <= input) node->inputs.resize(input + 1, ir::ValueId::none);
  node->inputs[input] = value;
}

std::optional<Frame> same_rank_frame(const NodeFacts& facts) {
  const auto rank = facts.rank(0);
  if (!rank || facts.node.outputs.empty()) return std::nullopt;
  Frame frame{*rank, {{.index = 0}}};
  for (std::size_t i = 0; i < facts.node.outputs.size(); ++i) frame.ports.push_back({.index = i, .is_output = true});
  return frame;
}

void permute_elements(const NodeFacts& facts, std::size_t input, const Permutation& order, NodeEditor& editor) {
  if (const auto known = facts.integers(input); known && known->size() == order.size()) {
    std::vector<std::int64_t> permuted;
    for (const std::int64_t axis : order) permuted.push_back((*known)[static_cast<std::size_t>(axis)]);
    return editor.set_input(input, editor.constant(facts.elem(input), permuted));
  }
  if (const ir::ValueId stored = editor.reordered(editor.node->inputs[input], order); stored != ir::ValueId::none)
    return editor.set_input(input, stored);
  const ir::ValueId places = editor.constant(ElementType::int64, order);
  editor.set_input(input, editor.emit("Gather", {editor.node->inputs[input], places}, {{"axis", std::int64_t{0}}}));
}

}  // namespace onnxkit::layout
