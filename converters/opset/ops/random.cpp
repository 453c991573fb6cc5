#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// Draws uniform numbers in double, so that none is rounded up to 1, and asks which lie below the probabilities.
void to_uniform(Step& step) {
  const auto real = static_cast<std::int64_t>(ElementType::float64);
  ir::Attribute type = step.attribute({"to", std::int64_t{0}});
  if (const ir::Attribute* stated = step.node().find_attribute("dtype")) {
    type = clone(*stated);
    type.name = step.keep("to");
  } else {
    type = step.attribute({"to", static_cast<std::int64_t>(step.need_elem(step.input(0)))});
  }
  const ValueId share = step.add("Cast", {step.input(0)}, {{"to", real}}, "probability");
  const ValueId drawn = step.value("drawn");
  ir::Node& draw = step.emit("RandomUniformLike", {share}, {drawn}, {{"dtype", real}});
  if (const ir::Attribute* seed = step.node().find_attribute("seed")) draw.attributes.push_back(clone(*seed));
  const ValueId is_below = step.add("Less", {drawn, share}, {}, "is_below");
  step.emit("Cast", {is_below}, {step.output(0)}).attributes.push_back(std::move(type));
  step.replace();
  step.note("rewritten as RandomUniformLike and Less: same distribution, but the numbers drawn may differ");
}

/// Only the shape of the input matters where dtype is stated.
void without_bfloat16_random(Step& step) {
  if (!step.has("dtype") || step.elem(step.input(0)) != ElementType::bfloat16) return;
  step.set_input(0, step.add("Cast", {step.input(0)}, {{"to", static_cast<std::int64_t>(ElementType::float32)}}));
}

}  // namespace

void register_random(StepRegistry& registry) {
  registry.types({"RandomNormal", "RandomUniform", "Bernoulli", "Multinomial"}, {22});
  registry.change({"RandomNormalLike", "RandomUniformLike"}, 22, compatible("more types are allowed"),
                  adapt("the shape is taken from a float tensor", without_bfloat16_random));
  registry.introduced({"Bernoulli"}, 15, adapt("rewritten as RandomUniformLike and Less", to_uniform));
  registry.introduced({"Multinomial"}, 7,
                      never("no older operator draws classes; RandomUniform would draw different numbers"));
}

}  // namespace onnxkit::opset
