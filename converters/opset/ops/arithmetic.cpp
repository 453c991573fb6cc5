#include <algorithm>

#include "converters/opset/broadcast.h"
#include "converters/opset/element_types.h"
#include "converters/opset/steps.h"

namespace onnxkit::opset {
namespace {

// ---- two inputs until opset 6

/// What gives the same with its operands exchanged; empty when nothing does.
std::string_view swapped_operator(std::string_view op) {
  if (op == "Less") return "Greater";
  if (op == "Greater") return "Less";
  return op == "Sub" || op == "Div" || op == "Pow" ? std::string_view() : op;
}

void to_limited(Step& step) { to_limited_broadcast(step, swapped_operator(step.node().op_type)); }

// ---- several inputs until opset 7

/// Add broadcasts at opset 7. More than two are not added one by one: the operator may keep digits that each sum would round off.
void two_of_any_shapes(Step& step) {
  ValueId sum = step.add("Add", {step.input(0), step.input(1)}, {}, "sum");
  if (step.node().op_type == "Mean")
    sum = step.add("Div", {sum, step.number(step.need_elem(step.input(0)), 2, "count")}, {}, "mean");
  step.emit("Identity", {sum}, {step.output(0)});
  step.replace();
  step.note("written as Add, which broadcasts");
}

void to_equal_shapes(Step& step) {
  if (step.input_count() == 1) return;
  const std::string_view op = step.node().op_type;
  const bool ranks_known =
      std::all_of(step.node().inputs.begin(), step.node().inputs.end(), [&](ValueId id) { return step.rank(id); });
  if (!ranks_known && step.input_count() == 2 && (op == "Sum" || op == "Mean")) return two_of_any_shapes(step);
  const std::vector<ValueId> values = with_common_shape(step, step.node().inputs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != step.input(i)) step.set_input(i, values[i]);
  }
}

/// Max and Min of integers by comparing; there is no NaN to look after.
void chosen_by_comparison(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (!is_integer(type)) return;
  const bool is_max = step.node().op_type == "Max";
  ValueId best = step.input(0);
  for (std::size_t i = 1; i < step.input_count(); ++i) {
    const ValueId next = step.input(i);
    const ValueId is_better = step.add(is_max ? "Greater" : "Less", {next, best}, {}, "is_better");
    best = step.add("Where", {is_better, next, best}, {}, "best");
  }
  step.emit("Identity", {best}, {step.output(0)});
  step.replace();
  step.note("written as comparisons and Where");
}

}  // namespace

void register_arithmetic(StepRegistry& registry) {
  const StepRegistry::Names sums = {"Add", "Sub", "Mul", "Div"};
  const StepRegistry::Names binary = {"Add", "Sub",   "Mul",     "Div",  "Pow", "And",
                                      "Or",  "Equal", "Greater", "Less", "Xor"};
  const StepRegistry::Names variadic = {"Sum", "Mean", "Max", "Min"};
  registry.change({"Add", "Sub", "Div"}, 6, drop_attribute("consumed_inputs"), by_way_of(whole_through_float64()));
  registry.change({"Mul"}, 6, drop_attribute("consumed_inputs"), compatible("only the types that are allowed differ"));
  registry.change(binary, 7, adapt("B is placed by its shape", to_numpy_broadcast),
                  adapt("B is placed by broadcast and axis", to_limited));
  registry.types(sums, {13});
  registry.change(sums, 14, compatible("more types are allowed"), by_way_of(narrow_through_int32()));

  registry.change(variadic, 6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be absent"));
  registry.change(variadic, 8, compatible("equal shapes stay what they are"),
                  adapt("the inputs get equal shapes", to_equal_shapes));
  registry.change({"Max", "Min"}, 12, compatible("more types are allowed"),
                  adapt("integers are compared", chosen_by_comparison));
  registry.types(variadic, {13});
}

}  // namespace onnxkit::opset
