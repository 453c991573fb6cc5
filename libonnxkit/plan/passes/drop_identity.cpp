// Nodes that give what they are given, and pairs that undo each other.
#include <algorithm>
#include <set>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

/// Operators whose result has the elements of the first input in the same order.
bool keeps_elements(const ir::Node& node) {
  static const std::set<std::string_view> names = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
  return ir::canonical_domain(node.domain).empty() && names.contains(node.op_type.view());
}

/// Those that give their first input when sizes do not change.
bool copies_when_size_stays(const ir::Node& node) {
  static const std::set<std::string_view> names = {"Expand", "Tile", "Pad"};
  return keeps_elements(node) || names.contains(node.op_type.view());
}

/// All numbers of one type are numbers of the other.
bool holds(ElementType wide, ElementType narrow) {
  using enum ElementType;
  if (wide == narrow) return true;
  if (is_floating(wide) != is_floating(narrow)) return false;
  if (is_floating(wide))
    return wide == float64 ? narrow == float32 || narrow == float16 || narrow == bfloat16
                           : wide == float32 && (narrow == float16 || narrow == bfloat16);
  if (domain_of(wide) == Domain::boolean || narrow == string || wide == string) return false;
  if (narrow == boolean) return true;
  if (domain_of(wide) != domain_of(narrow)) return false;
  return domain_of(wide) == Domain::integer && least_of(wide) <= least_of(narrow) &&
         greatest_of(wide) >= greatest_of(narrow);
}

std::vector<std::int64_t> order_of(const ir::Node& transpose, std::size_t rank) {
  const ir::Attribute* perm = transpose.find_attribute("perm");
  const auto* stated = perm ? perm->as<std::vector<std::int64_t>>() : nullptr;
  if (stated) return *stated;
  std::vector<std::int64_t> reversed(rank);
  for (std::size_t i = 0; i < rank; ++i) reversed[i] = static_cast<std::int64_t>(rank - 1 - i);
  return reversed;
}

bool is_in_order(const std::vector<std::int64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

class Dropping {
 public:
  explicit Dropping(Subject& subject) : subject_(subject), graph_(subject.graph()), patch_(graph_) {
    first_.assign(graph_.values.size(), ir::ValueId::none);
    now_.resize(graph_.values.size());
    for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = static_cast<ir::ValueId>(i);
  }

  bool run() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const ir::Node& node = graph_.nodes[at];
      if (!ir::canonical_domain(node.domain).empty() || node.inputs.empty() || node.outputs.empty()) continue;
      if (input_of(node, 0) == ir::ValueId::none || node.outputs[0] == ir::ValueId::none) continue;
      if (does_nothing(node))
        pass_on(at, node.inputs[0]);
      else if (node.op_type == "Transpose")
        join_transposes(at);
      else if (node.op_type == "Cast")
        join_casts(at);
      else if (keeps_elements(node))
        join_reshapes(at);
    }
    if (patch_.empty()) return false;
    subject_.splice(std::move(patch_));
    return true;
  }

 private:
  ir::ValueId now(ir::ValueId id) const { return id == ir::ValueId::none ? id : now_[ir::index_of(id)]; }
  bool others_are_unused(const ir::Node& node) const {
    return std::none_of(node.outputs.begin() + 1, node.outputs.end(),
                        [&](ir::ValueId id) { return id != ir::ValueId::none && subject_.uses().is_used(id); });
  }
  bool same_size(const ir::Node& node) const { return subject_.same_shape(node.inputs[0], node.outputs[0]); }

  /// A Cast to such a type may make infinities finite, of its own numbers, too.
  static bool saturates(ElementType type) { return is_floating(type) && storage_bits(type) <= 8; }

  bool does_nothing(const ir::Node& node) const {
    const std::string_view op = node.op_type.view();
    if (op == "Identity") return true;
    if (op == "Dropout") return is_inference(node) && others_are_unused(node);
    if (op == "Cast")
      return subject_.type(node.inputs[0]) != ElementType::undefined && !saturates(subject_.type(node.inputs[0])) &&
             subject_.type(node.inputs[0]) == subject_.type(node.outputs[0]);
    if (op == "Transpose") {
      const checker::Shape* const shape = subject_.shape(node.inputs[0]);
      return shape && is_in_order(order_of(node, shape->size()));
    }
    if (op == "Slice") return same_size(node) && steps_forward(node);
    if (op == "Pad") return same_size(node) && pads_nothing(node);
    if (op == "Concat" || op == "Sum" || op == "Max" || op == "Min" || op == "Mean") return node.inputs.size() == 1;
    if (op == "Split") return node.outputs.size() == 1 && same_size(node);
    if (op == "Mul" || op == "Div") return same_size(node) && subject_.scalar(input_of(node, 1)) == 1;
    return copies_when_size_stays(node) && same_size(node) && asks_for_it(node);
  }

  /// Inference may know what the result has to be where the node asks for what is not possible: the run has to say so.
  bool asks_for_it(const ir::Node& node) const {
    const std::string_view op = node.op_type.view();
    if (op != "Reshape" && op != "Expand") return true;
    const auto wanted = subject_.integers(input_of(node, 1));
    const checker::Shape* const shape = subject_.shape(node.outputs[0]);
    if (!wanted || !shape) return false;
    for (std::size_t i = 1; i <= wanted->size(); ++i) {
      const std::int64_t size = (*wanted)[wanted->size() - i];
      if (i > shape->size() || (size > 1 && !(*shape)[shape->size() - i].is(size))) return false;
    }
    return true;
  }

  bool is_inference(const ir::Node& node) const {
    if (input_of(node, 2) == ir::ValueId::none) return true;
    const auto content = subject_.content(node.inputs[2]);
    return content && content->size() == 1 && to_reals(*content)[0] == 0;
  }

  /// A slice of all elements takes them in order.
  bool steps_forward(const ir::Node& node) const {
    if (input_of(node, 4) == ir::ValueId::none) return true;
    const auto steps = subject_.integers(node.inputs[4]);
    return steps && std::all_of(steps->begin(), steps->end(), [](std::int64_t step) { return step > 0; });
  }

  bool pads_nothing(const ir::Node& node) const {
    const auto pads = subject_.integers(input_of(node, 1));
    return pads && std::all_of(pads->begin(), pads->end(), [](std::int64_t pad) { return pad == 0; });
  }

  /// What reads the node's result reads `by`.
  void pass_on(std::size_t at, ir::ValueId by) {
    const ir::Node& node = graph_.nodes[at];
    by = now(by);
    if (subject_.uses().is_output(node.outputs[0])) {
      // An output keeps its name.
      if (node.op_type != "Identity") put(at, "Identity", {by});
      return;
    }
    now_[ir::index_of(node.outputs[0])] = by;
    patch_.replace_value(node.outputs[0], by);
  }

  void put(std::size_t at, std::string_view op, std::vector<ir::ValueId> inputs,
           const std::vector<ir::Attr>& attributes = {}) {
    const ir::ValueId output = graph_.nodes[at].outputs[0];
    patch_.remove(at);
    patch_.insert_before(at, ir::make_node(subject_.model(), op, std::move(inputs), {output}, attributes));
  }

  void join_transposes(std::size_t at) {
    const ir::Node& node = graph_.nodes[at];
    const ir::Node* inner = subject_.writer(node.inputs[0], "Transpose");
    const checker::Shape* const shape = inner ? subject_.shape(node.outputs[0]) : nullptr;
    if (!shape) return;
    std::vector<std::int64_t> order = order_of(node, shape->size());
    const std::vector<std::int64_t> first = order_of(*inner, shape->size());
    if (first.size() != order.size()) return;
    for (std::int64_t& axis : order) axis = first[static_cast<std::size_t>(axis)];
    if (is_in_order(order))
      pass_on(at, inner->inputs[0]);
    else
      put(at, "Transpose", {now(inner->inputs[0])}, {{"perm", order}});
  }

  void join_casts(std::size_t at) {
    const ir::Node& node = graph_.nodes[at];
    const ir::Node* inner = subject_.writer(node.inputs[0], "Cast");
    if (!inner) return;
    const ElementType from = subject_.type(inner->inputs[0]), between = subject_.type(node.inputs[0]),
                      to = subject_.type(node.outputs[0]);
    if (from == ElementType::undefined || to == ElementType::undefined || !holds(between, from)) return;
    if (saturates(between) || to == ElementType::string) return;  // the text is that of the wider type
    if (from == to)
      pass_on(at, inner->inputs[0]);
    else if (!node.find_attribute("saturate") && !node.find_attribute("round_mode"))
      put(at, "Cast", {now(inner->inputs[0])}, {{"to", static_cast<std::int64_t>(to)}});
  }

  /// What the reshape that writes the value reads; none where no reshape does.
  ir::ValueId reshaped_from(ir::ValueId id) const {
    const std::int32_t producer = subject_.uses().producer(id);
    if (producer < 0) return ir::ValueId::none;
    const ir::Node& inner = graph_.nodes[static_cast<std::size_t>(producer)];
    return keeps_elements(inner) ? input_of(inner, 0) : ir::ValueId::none;
  }

  /// The value in front of all reshapes that lead to this one. No value of a long chain is passed twice.
  ir::ValueId before_reshapes(ir::ValueId id) {
    std::vector<ir::ValueId> passed;
    ir::ValueId source = id;
    for (;;) {
      if (const ir::ValueId known = first_[ir::index_of(source)]; known != ir::ValueId::none) {
        source = known;
        break;
      }
      passed.push_back(source);
      const ir::ValueId before = reshaped_from(source);
      if (before == ir::ValueId::none) break;
      source = before;
    }
    for (const ir::ValueId each : passed) first_[ir::index_of(each)] = source;
    return source;
  }

  /// What a Reshape to these sizes asks for: one that is no constant follows from the others, where none is 0.
  std::optional<std::vector<std::int64_t>> target_of(ir::ValueId id) const {
    const checker::Shape* const shape = subject_.shape(id);
    if (!shape) return std::nullopt;
    std::vector<std::int64_t> target;
    for (const ir::Dim size : *shape) target.push_back(size.is_constant() ? size.constant() : -1);
    const bool infers_one = std::count(target.begin(), target.end(), -1) <= 1;
    return infers_one && std::count(target.begin(), target.end(), 0) == 0 ? std::optional(target) : std::nullopt;
  }

  /// Reshapes of reshapes ask the first value.
  void join_reshapes(std::size_t at) {
    const ir::Node& node = graph_.nodes[at];
    const ir::ValueId source = before_reshapes(node.inputs[0]);
    if (source == node.inputs[0]) return;
    if (subject_.same_shape(source, node.outputs[0])) return pass_on(at, source);
    const auto target = target_of(node.outputs[0]);
    if (!target) return;
    const ir::ValueId shape = patch_.value(subject_.fresh_name("shape"));
    patch_.add_initializer(shape, ir::make_tensor(subject_.model(), std::span<const std::int64_t>(*target)));
    put(at, "Reshape", {now(source), shape});
  }

  Subject& subject_;
  const ir::Graph& graph_;
  ir::Patch patch_;
  std::vector<ir::ValueId> now_;    ///< by ValueId: what stands for it
  std::vector<ir::ValueId> first_;  ///< by ValueId: what stands in front of its reshapes; none: not looked at yet
};

}  // namespace

void register_drop_identity(PassRegistry& registry);
void register_drop_identity(PassRegistry& registry) {
  registry.add({.name = "drop_identity",
                .stage = Stage::clean,
                .run = [](Subject& subject) -> Result<bool> { return Dropping(subject).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
