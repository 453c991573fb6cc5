#include <algorithm>
#include <memory>

#include <fmt/core.h>

#include "converters/opset/compose/bodies.h"
#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/sequences.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::opset {
namespace {

// ---- If

/// What stands for the outputs of the node now, which goes.
void write_results(Step& step, const std::vector<ValueId>& results) {
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    if (step.output(i) == ValueId::none || results[i] == step.output(i)) continue;
    const checker::Type* type = step.type(step.output(i));
    if (!type || !type->is_tensor()) refuse("a value that is not a tensor is passed on");
    step.emit("Identity", {results[i]}, {step.output(i)});
  }
  step.replace();
}

/// A value of this type, to start a Loop with.
ValueId any_value(Step& step, ElementType type) {
  if (type != ElementType::string) return step.number(type, 0, "start");
  ir::Tensor text;
  text.data_type = static_cast<std::int32_t>(type);
  text.string_data.push_back(step.keep(""));
  return step.constant_node(std::move(text), "start");
}

/// Loops carry values whose shapes change, and one of two runs once, the other not at all.
class IfByLoops {
 public:
  explicit IfByLoops(Step& step) : step_(step) {}

  void build() {
    std::vector<ValueId> carried, outputs;
    for (std::size_t i = 0; i < step_.output_count(); ++i) {
      types_.push_back(step_.need_elem(step_.output(i)));
      carried.push_back(any_value(step_, types_.back()));
      outputs.push_back(step_.output(i) == ValueId::none ? step_.value("unused") : step_.output(i));
    }
    const ValueId condition = reshape(step_, step_.input(0), {1}, "condition");
    const ValueId otherwise = step_.add("Not", {condition}, {}, "otherwise");
    std::vector<ValueId> chosen;
    for (std::size_t i = 0; i < carried.size(); ++i) chosen.push_back(step_.value("then"));
    const std::size_t first = emit(condition, carried, chosen), second = emit(otherwise, chosen, outputs);
    step_.replace();
    step_.note("rewritten as two Loops, of which one runs once, because the shapes of the branches may differ");
    step_.finish([first, second, results = results_](ir::Model&, ir::Node& node, std::vector<ir::Node>& added) {
      swap_body(take_graph(node, "then_branch"), added[first], results[0]);
      swap_body(take_graph(node, "else_branch"), added[second], results[1]);
    });
  }

 private:
  /// Its place among the nodes that the step adds.
  std::size_t emit(ValueId condition, const std::vector<ValueId>& start, const std::vector<ValueId>& outputs) {
    std::vector<ValueId> inputs = {cast(step_, condition, ElementType::int64, "count"),
                                   step_.number(ElementType::boolean, 1)};
    inputs.insert(inputs.end(), start.begin(), start.end());
    step_.begin_body();
    step_.body_input("iteration", ElementType::int64, 0);
    const ValueId runs_on = step_.body_input("condition", ElementType::boolean, 0);
    for (const ElementType type : types_) step_.body_input("before", type);
    step_.body_output(step_.add("Identity", {runs_on}, {}, "condition"), ElementType::boolean, 0);
    std::vector<ValueId>& results = results_.emplace_back();
    for (const ElementType type : types_) {
      results.push_back(step_.value("result"));
      step_.body_output(results.back(), type);
    }
    ir::Attribute body = step_.end_body("body");
    step_.emit("Loop", std::move(inputs), outputs).attributes.push_back(std::move(body));
    return step_.added_count() - 1;
  }

  static void swap_body(std::unique_ptr<ir::Graph> branch, ir::Node& loop, const std::vector<ValueId>& results) {
    auto& held = std::get<std::unique_ptr<ir::Graph>>(loop.attributes.back().payload);
    const std::unique_ptr<ir::Graph> frame = std::move(held);
    std::vector<ValueId> own(frame->values.size(), ValueId::none);
    for (std::size_t i = 0; i < results.size(); ++i) own[ir::index_of(results[i])] = branch->outputs[i].value;
    held = framed(std::move(branch), *frame, 0, std::move(own));
  }

  Step& step_;
  std::vector<ElementType> types_;
  std::vector<std::vector<ValueId>> results_;  ///< of both frames: values that stand for the outputs of a branch
};

bool has_branches_of(const Step& step, std::size_t outputs) {
  for (const std::string_view name : {"then_branch", "else_branch"}) {
    const ir::Attribute* found = step.node().find_attribute(name);
    const ir::Graph* graph = found ? found->graph() : nullptr;
    if (!graph || graph->outputs.size() != outputs) return false;
  }
  return true;
}

/// Until version 1 both branches give outputs of one shape.
void need_equal_shapes(Step& step) {
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    if (step.give_one_shape("then_branch", "else_branch", i)) continue;
    if (!has_branches_of(step, step.output_count())) refuse("the branches have another number of outputs");
    return IfByLoops(step).build();
  }
}

/// The branch that is always taken, in place of the node.
void take_known_branch(Step& step) {
  const auto condition = step.constant_integers(step.input(0));
  if (!condition || condition->size() != 1 || !has_branches_of(step, step.output_count())) return;
  bool differ = false;
  for (std::size_t i = 0; i < step.output_count(); ++i)
    differ = differ || !step.give_one_shape("then_branch", "else_branch", i);
  if (!differ) return;
  const ir::Graph& branch =
      *step.node().find_attribute(condition->front() != 0 ? "then_branch" : "else_branch")->graph();
  write_results(step, inlined(step, branch, {}, step.node().outputs));
  step.note("replaced by the branch that is always taken");
}

// ---- Loop

bool is_sequence(const Step& step, ValueId value) {
  const checker::Type* type = step.type(value);
  return type && type->kind == checker::Type::Kind::sequence;
}

/// The condition that the body gives is always true, if the one that it gets is.
bool stays_true(const Step& step, const ir::Graph& body) {
  const std::vector<std::int32_t> producer = ir::producers(body);
  ValueId value = body.outputs[0].value;
  for (std::size_t depth = 0; depth <= body.nodes.size() && value != ValueId::none; ++depth) {
    if (value == body.inputs[1].value) return true;
    const std::int32_t at = producer[ir::index_of(value)];
    if (at < 0) break;
    const ir::Node& node = body.nodes[static_cast<std::size_t>(at)];
    if (!(node.op_type == "Identity" || node.op_type == "Cast") || node.inputs.size() != 1) return false;
    value = node.inputs[0];
  }
  const ValueId outer = step.graph().find(body.name_of(value));
  const auto known = outer == ValueId::none ? std::nullopt : step.constant_integers(outer);
  return known && known->size() == 1 && known->front() != 0;
}

/// A Loop that carries sequences, which older versions cannot, as often in a row as it runs.
void unroll(Step& step) {
  constexpr std::size_t first_carried = 2, most_nodes = 2000;
  const ir::Attribute* attribute = step.node().find_attribute("body");
  const ir::Graph* body = attribute ? attribute->graph() : nullptr;
  const std::size_t inputs = step.input_count();
  bool any = false;
  for (std::size_t i = first_carried; i < inputs; ++i) any = any || is_sequence(step, step.input(i));
  if (!body || !any || body->inputs.size() != inputs || body->outputs.size() + 1 != inputs) return;
  auto count = step.constant_integers(step.input(0));
  if (const auto length = known_sequence_length(step, step.input(0)); length && !count) count = {*length};
  const auto start = step.has_input(1) ? step.constant_integers(step.input(1)) : std::vector<std::int64_t>{1};
  if (!count || count->size() != 1 || count->front() < 1 || !start || start->size() != 1 || start->front() == 0) return;
  if (static_cast<std::uint64_t>(count->front()) * (body->nodes.size() + 1) > most_nodes || !stays_true(step, *body))
    return;
  const auto& declared = body->inputs[0].type;
  const bool is_vector = declared && declared->shape && declared->shape->dims.size() == 1;
  const ValueId runs = step.has_input(1) ? step.input(1) : step.number(ElementType::boolean, 1);
  std::vector<ValueId> values(step.node().inputs.begin() + first_carried, step.node().inputs.end());
  for (std::int64_t i = 0; i < count->front(); ++i) {
    std::vector<ValueId> given = {is_vector ? step.vector(std::vector<std::int64_t>{i}) : step.scalar(i), runs};
    given.insert(given.end(), values.begin(), values.end());
    std::vector<ValueId> wanted = {ValueId::none};
    if (i + 1 == count->front()) wanted.insert(wanted.end(), step.node().outputs.begin(), step.node().outputs.end());
    values = inlined(step, *body, given, wanted);
    values.erase(values.begin());
  }
  write_results(step, values);
  step.note("its iterations written one after the other");
}

/// Until version 1 something is carried. Values that a body makes come last, so what is carried here comes first.
void carry_something(Step& step) {
  constexpr std::size_t first_carried = 2;
  if (step.input_count() > first_carried) return;
  if (!step.has_input(0)) step.set_input(0, ValueId::none);
  if (!step.has_input(1)) step.set_input(1, ValueId::none);
  step.set_input(first_carried, step.scalar(0, "carried"));
  std::vector<ValueId> outputs = {step.value("carried")};
  for (std::size_t i = 0; i < step.output_count(); ++i) outputs.push_back(step.output(i));
  for (std::size_t i = 0; i < outputs.size(); ++i) step.set_output(i, outputs[i]);
  step.begin_body();
  const ValueId before = step.body_input("before", ElementType::int64, 0);
  step.body_output(step.add("Identity", {before}, {}, "after"), ElementType::int64, 0);
  auto frame = std::make_shared<ir::Attribute>(step.end_body("body"));
  step.note("carries a number through the iterations, as version 1 must carry something");
  step.finish([frame](ir::Model&, ir::Node& node, std::vector<ir::Node>&) {
    std::unique_ptr<ir::Graph> body = take_graph(node, "body");
    const ir::Graph& extra = *frame->graph();
    const ValueId carried = body->intern(extra.name_of(extra.inputs[0].value)),
                  after = body->intern(extra.name_of(extra.outputs[0].value));
    ir::Node same = ir::clone(extra.nodes[0]);
    same.inputs = {carried};
    same.outputs = {after};
    body->nodes.push_back(std::move(same));
    ir::ValueInfo input = ir::clone(extra.inputs[0]), output = ir::clone(extra.outputs[0]);
    input.value = carried;
    output.value = after;
    body->inputs.push_back(std::move(input));
    body->outputs.insert(body->outputs.begin() + std::min<std::ptrdiff_t>(1, std::ssize(body->outputs)),
                         std::move(output));
    put_graph(node, "body", std::move(body));
  });
}

}  // namespace

void register_control_flow(StepRegistry& registry) {
  registry.before({"If"}, 11, adapt("replaced by the branch that is always taken", take_known_branch));
  registry.before({"Loop"}, 13, adapt("its iterations written one after the other", unroll));
  registry.before({"Loop"}, 12, adapt("its iterations written one after the other", unroll));
  registry.before({"Loop"}, 11, adapt("its iterations written one after the other", unroll));
  registry.change({"If"}, 11, compatible("the branches may also return different shapes"),
                  adapt("both branches return the same shapes, or two Loops of which one runs", need_equal_shapes));
  registry.change({"Loop"}, 11, compatible("only the specification text differs"),
                  adapt("something is carried through the iterations", carry_something));
  registry.types({"If", "Loop"}, {13, 16, 19, 21, 23, 24, 25});
}

}  // namespace onnxkit::opset
