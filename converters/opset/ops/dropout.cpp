#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// What version 7 took away: x * mask / (1 - ratio), where the mask is drawn.
void draw(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const float ratio = step.real("ratio");
  const ValueId drawn = step.add("RandomUniformLike", {x}, {{"dtype", std::int64_t{1}}}, "drawn");
  const ValueId dropped = step.add("Less", {drawn, step.number(ElementType::float32, ratio, "ratio")}, {}, "dropped");
  const ValueId mask = step.output(1) == ValueId::none ? step.value("mask") : step.output(1);
  step.emit("Cast", {step.add("Not", {dropped}, {}, "kept")}, {mask}, {{"to", static_cast<std::int64_t>(type)}});
  const ValueId kept = step.add("Mul", {x, mask}, {}, "masked");
  step.emit("Div", {kept, step.number(type, 1 - double{ratio}, "share")}, {step.output(0)});
  step.replace();
  step.note("dropped elements drawn by separate operators: version 7 never drops");
}

void to_always_test(Step& step) {
  if (step.integer("is_test") == 0 && step.real("ratio") != 0) return draw(step);
  step.remove("is_test");
}

/// In test mode older versions leave the mask open.
void to_stated_mode(Step& step) {
  step.set({"is_test", std::int64_t{1}});
  if (!step.is_used(1)) return step.drop_outputs(1);
  const ValueId mask = step.output(1), x = step.input(0);
  const auto type = static_cast<std::int64_t>(step.need_elem(x));
  step.drop_outputs(1);
  const ValueId truth = step.add("Cast", {x}, {{"to", static_cast<std::int64_t>(ElementType::boolean)}}, "truth");
  const ValueId all = step.add("Or", {truth, step.add("Not", {truth})}, {}, "all");
  step.emit("Cast", {all}, {mask}, {{"to", type}});
}

/// The mask in another type.
void convert_mask(Step& step, ElementType type) {
  if (!step.is_used(1)) return step.drop_outputs(1);
  const ValueId mask = step.value("mask");
  const ValueId named = step.output(1);
  step.set_output(1, mask);
  step.then();
  step.emit("Cast", {mask}, {named}, {{"to", static_cast<std::int64_t>(type)}});
}

void mask_of_truths(Step& step) {
  if (step.output(1) != ValueId::none)
    convert_mask(step, step.is_used(1) ? step.need_elem(step.input(0)) : ElementType::boolean);
}

void mask_of_numbers(Step& step) {
  if (step.output(1) != ValueId::none) convert_mask(step, ElementType::boolean);
}

void ratio_to_input(Step& step) {
  if (!step.has("ratio")) return;
  ValueId ratio = ValueId::none;
  if (step.is_reference("ratio")) {
    ratio = step.value("ratio");
    ir::Attribute copy = clone(*step.node().find_attribute("ratio"));
    copy.name = "value_float";
    step.emit("Constant", {}, {ratio}).attributes.push_back(std::move(copy));
  } else {
    const float given = step.real("ratio");
    if (!(given >= 0 && given < 1)) {
      step.note("removed ratio, which is outside [0, 1): nothing is dropped");
      return step.remove("ratio");
    }
    ratio = step.number(ElementType::float32, given, "ratio");
  }
  step.remove("ratio");
  step.set_input(1, ratio);
}

void ratio_to_attribute(Step& step) {
  const auto ratio = step.has_input(1) ? step.constant_real(step.input(1)) : 0.5;
  if (step.has_input(2) && ratio != 0.0) {
    const auto training = step.constant_real(step.input(2));
    if (!training) refuse("training_mode is computed at run time, and older versions never drop");
    if (*training != 0) refuse("training_mode is set, and older versions never drop");
  }
  if (ratio && step.has_input(1)) step.set({"ratio", static_cast<float>(*ratio)});
  step.drop_inputs(1);
  step.remove("seed");
}

}  // namespace

void register_dropout(StepRegistry& registry) {
  registry.change({"Dropout"}, 6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be omitted"));
  registry.change({"Dropout"}, 7, adapt("always in test mode", to_always_test),
                  adapt("is_test is set", to_stated_mode));
  registry.change({"Dropout"}, 10, adapt("the mask is boolean", mask_of_truths),
                  adapt("the mask has the type of the data", mask_of_numbers));
  registry.change({"Dropout"}, 12, adapt("ratio becomes an input", ratio_to_input),
                  adapt("ratio becomes an attribute", ratio_to_attribute));
  registry.types({"Dropout"}, {13, 22});
}

}  // namespace onnxkit::opset
