#include <algorithm>

#include <fmt/core.h>

#include "converters/opset/compose/bodies.h"
#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/sequences.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

bool is_sequence(const checker::Type* type) { return type && type->kind == checker::Type::Kind::sequence; }

/// A Loop that takes an element of each sequence, and appends what the body makes of them.
class Mapping {
 public:
  explicit Mapping(Step& step) : step_(step) {}

  void build() {
    const ir::Attribute* attribute = step_.node().find_attribute("body");
    const ir::Graph* graph = attribute ? attribute->graph() : nullptr;
    if (!graph || graph->inputs.size() != step_.input_count() || graph->outputs.size() != step_.output_count())
      refuse("the node and its body have different numbers of inputs or outputs");
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
      refuse_unknown(fmt::format("the element type of output {} is unknown", output));
    return static_cast<std::int64_t>(type->element->elem);
  }

  ir::Attribute make_frame() {
    std::vector<bool> are_sequences;
    for (std::size_t i = 0; i < step_.input_count(); ++i) {
      const checker::Type* type = step_.type(step_.input(i));
      if (!type || type->is_unknown())
        refuse_unknown(
            fmt::format("whether {} is a sequence is unknown", quote(step_.graph().name_of(step_.input(i)))));
      are_sequences.push_back(is_sequence(type));
    }
    step_.begin_body();
    const ValueId iteration = step_.body_input("iteration", ElementType::int64, 0);
    const ValueId condition = step_.body_input("condition", ElementType::boolean, 0);
    step_.body_output(step_.add("Identity", {condition}, {}, "condition"), ElementType::boolean, 0);
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

// ---- below 11: sequences whose elements are known one by one

/// A tensor that a sequence holds: a value of the graph, or a piece of one.
struct Element {
  ValueId x = ValueId::none;
  bool is_piece = false, is_squeezed = false;
  std::optional<std::int64_t> begin = {}, end = {};  ///< of a piece; unknown when only the number of pieces is known
  std::int64_t axis = 0;
};

using Elements = std::vector<Element>;

std::optional<std::int64_t> attribute_of(const ir::Node& node, std::string_view name, std::int64_t absent) {
  const ir::Attribute* found = node.find_attribute(name);
  if (!found) return absent;
  const auto* value = found->as<std::int64_t>();
  return value && found->ref_attr_name.empty() ? std::optional(*value) : std::nullopt;
}

ValueId input_of(const ir::Node& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : ValueId::none;
}

/// What the graph says of its sequences.
class Sequences {
 public:
  explicit Sequences(Step& step) : step_(step), producers_(ir::producers(step.graph())) {}

  std::optional<Elements> elements(ValueId sequence, int depth = 0) const {
    constexpr int deepest = 200;
    const std::int32_t at = sequence == ValueId::none ? -1 : producers_[ir::index_of(sequence)];
    if (at < 0 || depth > deepest) return std::nullopt;
    const ir::Node& node = step_.graph().nodes[static_cast<std::size_t>(at)];
    if (!ir::canonical_domain(node.domain).empty()) return std::nullopt;
    if (node.op_type == "SequenceEmpty") return Elements();
    if (node.op_type == "SequenceConstruct") {
      Elements all;
      for (const ValueId x : node.inputs) all.push_back({.x = x});
      return all;
    }
    if (node.op_type == "SplitToSequence") return pieces(node);
    const bool inserts = node.op_type == "SequenceInsert";
    if (!inserts && node.op_type != "SequenceErase") return std::nullopt;
    std::optional<Elements> all = elements(input_of(node, 0), depth + 1);
    if (!all) return std::nullopt;
    const auto size = static_cast<std::int64_t>(all->size());
    const auto index = position(node, inserts ? 2 : 1, inserts ? size : size - 1, size);
    if (!index || *index < 0 || *index > size - (inserts ? 0 : 1)) return std::nullopt;
    if (inserts)
      all->insert(all->begin() + *index, {.x = input_of(node, 1)});
    else
      all->erase(all->begin() + *index);
    return all;
  }

  /// A position that a node states, from the front.
  std::optional<std::int64_t> position(const ir::Node& node, std::size_t input, std::int64_t absent,
                                       std::int64_t size) const {
    if (input_of(node, input) == ValueId::none) return absent;
    const auto known = step_.constant_integers(input_of(node, input));
    if (!known || known->size() != 1) return std::nullopt;
    return known->front() < 0 ? known->front() + size : known->front();
  }

  /// Element that a SequenceAt takes.
  std::optional<Element> taken(const ir::Node& node) const {
    const auto all = elements(input_of(node, 0));
    if (!all) return std::nullopt;
    const auto size = static_cast<std::int64_t>(all->size());
    const auto index = position(node, 1, 0, size);
    if (!index || *index < 0 || *index >= size) return std::nullopt;
    const Element found = (*all)[static_cast<std::size_t>(*index)];
    return is_known(found) ? std::optional(found) : std::nullopt;
  }

  std::optional<Elements> joined(const ir::Node& node) const {
    std::optional<Elements> all = elements(input_of(node, 0));
    if (!all || all->empty() || !std::all_of(all->begin(), all->end(), is_known)) return std::nullopt;
    return all;
  }

  /// All that reads the sequence needs it no longer once it is written without sequences.
  bool is_needless(ValueId sequence, int depth = 0) const {
    constexpr int deepest = 200;
    const ir::Graph& graph = step_.graph();
    if (depth > deepest) return false;
    for (const ir::ValueInfo& output : graph.outputs) {
      if (output.value == sequence) return false;
    }
    return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
      const std::vector<ValueId> captured = ir::captured_values(graph, node);
      if (std::find(captured.begin(), captured.end(), sequence) != captured.end()) return false;
      if (std::find(node.inputs.begin(), node.inputs.end(), sequence) == node.inputs.end()) return true;
      if (!ir::canonical_domain(node.domain).empty()) return false;
      if (node.op_type == "SequenceLength") return elements(sequence).has_value();
      if (node.op_type == "SequenceAt") return taken(node).has_value();
      if (node.op_type == "ConcatFromSequence") return joined(node).has_value();
      return (node.op_type == "SequenceInsert" || node.op_type == "SequenceErase") && !node.outputs.empty() &&
             is_needless(node.outputs[0], depth + 1);
    });
  }

 private:
  static bool is_known(const Element& element) { return !element.is_piece || element.begin.has_value(); }

  std::optional<Elements> pieces(const ir::Node& node) const {
    const ValueId x = input_of(node, 0), split = input_of(node, 1);
    const checker::Shape* shape = step_.shape(x);
    const auto stated = attribute_of(node, "axis", 0), keeps = attribute_of(node, "keepdims", 1);
    if (!shape || !stated || !keeps) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(shape->size());
    const std::int64_t axis = *stated < 0 ? *stated + rank : *stated;
    if (axis < 0 || axis >= rank) return std::nullopt;
    const checker::Dim total = (*shape)[static_cast<std::size_t>(axis)];
    constexpr std::int64_t most = 1000;
    std::vector<std::int64_t> sizes;
    if (split != ValueId::none && step_.rank(split) == 1) {
      const auto count = step_.sizes(split);
      const auto known = step_.constant_integers(split);
      if (!known && count && count->front() <= most)
        return Elements(static_cast<std::size_t>(count->front()), {.x = x, .is_piece = true});
      if (!known) return std::nullopt;
      sizes = *known;
    } else {
      const auto known = split == ValueId::none ? std::vector<std::int64_t>{1} : step_.constant_integers(split);
      if (!known || known->size() != 1 || known->front() < 1 || !total.is_constant()) return std::nullopt;
      if (split != ValueId::none && step_.rank(split) != 0) return std::nullopt;
      if (total.constant() / known->front() > most) return std::nullopt;
      for (std::int64_t rest = total.constant(); rest > 0; rest -= known->front())
        sizes.push_back(std::min(rest, known->front()));
    }
    Elements all;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      constexpr std::int64_t largest = std::int64_t{1} << 48;
      if (size < 0 || size > largest) return std::nullopt;
      all.push_back({x, true, split == ValueId::none && *keeps == 0, at, at + size, axis});
      at += size;
    }
    return all;
  }

  Step& step_;
  std::vector<std::int32_t> producers_;
};

constexpr const char* unknown_sequence =
    "older opsets have no sequences, and the elements of this one are not known individually";

ValueId materialised(Step& step, const Element& element) {
  if (!element.is_piece) return element.x;
  const ValueId piece = slice(step, element.x, element.axis, *element.begin, *element.end, "piece");
  return element.is_squeezed ? squeeze(step, piece, {element.axis}, "piece") : piece;
}

void drop_sequence(Step& step) {
  if (!Sequences(step).is_needless(step.output(0))) refuse(unknown_sequence);
  step.replace();
  step.note("removed: its elements are read individually");
}

void take_element(Step& step) {
  const auto element = Sequences(step).taken(step.node());
  if (!element) refuse(unknown_sequence);
  step.emit("Identity", {materialised(step, *element)}, {step.output(0)});
  step.replace();
}

void count_elements(Step& step) {
  const auto all = Sequences(step).elements(step.input(0));
  if (!all) refuse(unknown_sequence);
  step.emit("Identity", {step.scalar(static_cast<std::int64_t>(all->size()))}, {step.output(0)});
  step.replace();
}

void join_elements(Step& step) {
  const auto all = Sequences(step).joined(step.node());
  if (!all) refuse(unknown_sequence);
  const bool is_stacked = step.integer("new_axis") != 0;
  std::int64_t axis = step.integer("axis");
  if (axis < 0) {
    const Element& first = all->front();
    axis += step.need_rank(first.x) - (first.is_squeezed ? 1 : 0) + (is_stacked ? 1 : 0);
  }
  std::vector<ValueId> parts;
  for (const Element& element : *all) {
    const ValueId part = materialised(step, element);
    parts.push_back(is_stacked ? unsqueeze(step, part, {axis}) : part);
  }
  step.emit("Concat", std::move(parts), {step.output(0)}, {{"axis", axis}});
  step.replace();
}

}  // namespace

std::optional<std::int64_t> known_sequence_length(Step& step, ValueId count) {
  const ir::Graph& graph = step.graph();
  const std::int32_t at = count == ValueId::none ? -1 : ir::producers(graph)[ir::index_of(count)];
  if (at < 0) return std::nullopt;
  const ir::Node& node = graph.nodes[static_cast<std::size_t>(at)];
  if (!(node.op_type == "SequenceLength") || !ir::canonical_domain(node.domain).empty()) return std::nullopt;
  const auto all = Sequences(step).elements(input_of(node, 0));
  return all ? std::optional(static_cast<std::int64_t>(all->size())) : std::nullopt;
}

void register_sequence(StepRegistry& registry) {
  const Way gone = adapt("removed: its elements are read individually", drop_sequence);
  registry.introduced({"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SplitToSequence"}, 11,
                      gone);
  registry.introduced({"SequenceAt"}, 11, adapt("the element itself", take_element));
  registry.introduced({"SequenceLength"}, 11, adapt("rewritten as a constant", count_elements));
  registry.introduced({"ConcatFromSequence"}, 11, adapt("rewritten as Concat", join_elements));
  registry.introduced({"SequenceMap"}, 17, adapt("rewritten as Loop", [](Step& step) { Mapping(step).build(); }));
  registry.types({"SplitToSequence"}, {24});
}

}  // namespace onnxkit::opset
